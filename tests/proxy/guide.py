"""What docs/proxy.md tells a producer to set."""

from __future__ import annotations

import re

from lakehouse.settings import REPOSITORY


def block(heading: str) -> str:
    """The first block under a heading of the guide, as written."""
    guide = (REPOSITORY / "docs" / "proxy.md").read_text()
    found = re.search(rf"^### {heading}.*?^```\w+\n(.*?)^```", guide, re.DOTALL | re.MULTILINE)
    assert found, heading
    return found[1]
