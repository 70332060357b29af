"""The command that an empty server shows, run in a shell."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from commands.page import ensure_page
from tests.looking import Look, looking

from .conftest import Lineage

pytestmark = [pytest.mark.browser, pytest.mark.server]


def _run_as_shown(page: Page, home: Path, **environ: str) -> None:
    """Run the command with curl's settings of a folder; fail if the server rejects the request."""
    shown = page.get_by_role("region", name="No lineage yet").locator("pre").inner_text()
    with (home / ".curlrc").open("a") as settings:
        settings.write("fail\nsilent\nshow-error\n")
    env = {**os.environ, "CURL_HOME": str(home), **environ}
    subprocess.run(["sh", "-c", shown], env=env, check=True, timeout=60)


def test_shown_command_sends_an_event(empty: Look, tmp_path: Path) -> None:
    page = empty("/")
    expect(page.get_by_text("Live")).to_be_visible()
    assert "Authorization" not in page.locator("pre").inner_text()
    _run_as_shown(page, tmp_path)
    expect(page.get_by_role("link", name="Completed first_job")).to_be_visible()


def test_shown_command_works_over_http_with_a_key(
    browser: Browser, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ensure_page()
    monkeypatch.setenv("HEADWATER_API_KEY", "a key")
    server = Lineage(tmp_path)
    monkeypatch.delenv("HEADWATER_API_KEY")
    host = f"lineage.example:{server.port}"
    (tmp_path / ".curlrc").write_text(f"resolve = {host}:127.0.0.1\n")
    credentials = {"username": "any", "password": "a key"}
    with looking(browser, f"http://{host}", http_credentials=credentials) as look:
        page = look("/")
        expect(page.get_by_text("Live")).to_be_visible()
        assert page.evaluate("isSecureContext") is False
        expect(page.get_by_text("with the scope write")).to_be_visible()
        with pytest.raises(subprocess.CalledProcessError):
            _run_as_shown(page, tmp_path, HEADWATER_API_KEY="another")
        _run_as_shown(page, tmp_path, HEADWATER_API_KEY="a key")
        expect(page.get_by_role("link", name="Completed first_job")).to_be_visible()
    server.stop()
