"""The Chromium for machines without one."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from lakehouse.settings import REPOSITORY
from tests import chromium
from tests.chromium import MissingChromiumError, find_chromium

_SHOW = """
from tests import chromium, looking
chromium.PROGRAMS = ()
with looking.chromium() as browser:
    page = browser.new_page()
    page.set_content("<p></p><script>document.querySelector('p').textContent = 6 * 7</script>")
    print(page.locator("p").inner_text(), page.locator("p").bounding_box()["height"] > 10)
"""


@pytest.mark.browser
def test_chromium_of_the_package_shows_a_page_and_leaves_no_files(tmp_path: Path) -> None:
    """Run in another process, as Playwright keeps an event loop in its thread."""
    done = subprocess.run(
        [sys.executable, "-c", _SHOW],
        cwd=tmp_path,
        env=os.environ | {"PYTHONPATH": str(REPOSITORY)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stdout == "42 True\n", done.stderr
    assert list(tmp_path.iterdir()) == []


def test_missing_chromium_error_names_the_machines(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(chromium, "PROGRAMS", ("no-such-program",))
    monkeypatch.setattr("platform.machine", lambda: "riscv64")
    with pytest.raises(MissingChromiumError, match="no-such-program is on the PATH.*x86-64"):
        find_chromium()
