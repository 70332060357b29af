"""Secrets in the queries of `./run sql` are masked, by the rules of HEADWATER_REDACT too."""

from __future__ import annotations

from pathlib import Path

import pytest

from commands import sql_lineage
from commands.sql_lineage import QueryRun
from lakehouse.settings import load_settings


def test_secrets_in_a_query_and_its_error_are_masked_by_own_rules_too(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    rules, events = tmp_path / "redact.yaml", tmp_path / "events.json"
    rules.write_text('patterns: ["EMP-[0-9]{6}"]')
    monkeypatch.setenv("HEADWATER_REDACT", str(rules))
    transport = {"type": "file", "log_file_path": str(events), "append": True}
    monkeypatch.setattr(sql_lineage, "python_transport", lambda _: transport)
    run = QueryRun(load_settings(), "SELECT 'EMP-123456', \"password='hunter2'\"")
    run.report("FAIL", "no column EMP-123456")
    text = events.read_text()
    assert "SELECT" in text
    assert "no column" in text
    assert "EMP-123456" not in text
    assert "hunter2" not in text
