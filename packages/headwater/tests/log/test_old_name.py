"""Variables and stores of the name that headwater had before are found, used and reported once."""

from __future__ import annotations

import logging
from pathlib import Path

import pytest

from headwater.cli.main import main
from headwater.log import EventLog
from headwater.old_name import report
from headwater.settings import default_database, resolve
from headwater_client import lineage
from headwater_client.old_name import adopt


def test_present_variable_overrides_its_old_name() -> None:
    environ = {"THROUGHLINE_PORT": "1", "HEADWATER_PORT": "2", "THROUGHLINE_KEEP": "", "PATH": "/"}
    assert adopt(environ) == ""
    assert environ["HEADWATER_PORT"] == "2"
    assert "HEADWATER_KEEP" not in environ


def test_old_variable_is_used_and_reported_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    EventLog(str(tmp_path / "store.db")).close()
    monkeypatch.setenv("HEADWATER_DATABASE", "")  # undone at the end, as the command sets it
    monkeypatch.setenv("THROUGHLINE_DATABASE", str(tmp_path / "store.db"))
    for expected in (1, 0):
        with pytest.raises(SystemExit):
            main(["keys", "list"])
        printed = capsys.readouterr()
        assert printed.err.count("rename THROUGHLINE_DATABASE to HEADWATER_DATABASE") == expected
    assert resolve({}).database == str(tmp_path / "store.db")


def test_old_variable_turns_reports_of_functions_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv("HEADWATER_SPOOL", "")
    monkeypatch.setenv("THROUGHLINE_SPOOL", str(tmp_path / "spool"))

    @lineage(outputs=[("file", "/b")])
    def load() -> int:
        return 1

    with caplog.at_level(logging.WARNING):
        assert load() + load() == 2
    assert [record.message for record in caplog.records] == [
        "throughline is now headwater: rename THROUGHLINE_SPOOL to HEADWATER_SPOOL"
    ]
    files = [*(tmp_path / "spool").glob("*.jsonl")]
    assert sum(len(file.read_text().splitlines()) for file in files) == 4


def test_old_default_store_is_used_until_a_new_one_exists(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    new, old = tmp_path / "headwater/headwater.db", tmp_path / "throughline/throughline.db"
    assert (default_database(), report(default_database())) == (str(new), "")
    old.parent.mkdir()
    old.touch()
    assert default_database() == str(old)
    assert resolve({}).harvests == old.parent / "harvests"
    assert f"its log {old} is still used" in report(default_database())
    new.parent.mkdir()
    new.touch()
    assert default_database() == str(new)
    assert resolve({}).harvests == new.parent / "harvests"


def test_folder_without_a_store_does_not_hide_the_old_store(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    (tmp_path / "headwater").mkdir()  # another program creates the folder first, such as harvest
    (tmp_path / "throughline").mkdir()
    (tmp_path / "throughline/throughline.db").touch()
    assert default_database() == str(tmp_path / "throughline/throughline.db")
