"""Producer settings in docs/how-to/proxy.md."""

from __future__ import annotations

import re

from lakehouse.settings import REPOSITORY


def block(heading: str) -> str:
    """Return the first code block under a heading of the guide."""
    guide = (REPOSITORY / "docs/how-to/proxy.md").read_text()
    match = re.search(rf"^### {heading}.*?^```\w+\n(.*?)^```", guide, re.DOTALL | re.MULTILINE)
    assert match, heading
    return match[1]
