"""Number of examples of the property tests that compare many states."""

from __future__ import annotations

from hypothesis import settings


def examples(count: int) -> int:
    """Return the number of examples to try: `count`, or a third of it in the profile `ci`.

    In CI, a test tries the same examples each time, so that many would find no more than few.
    Elsewhere, each run tries new ones.
    """
    return count // 3 if settings.get_current_profile_name() == "ci" else count
