"""The authorizer: keys that may post."""

from __future__ import annotations

from typing import Any

import pytest

from headwater_aws.authorizer import CACHE_SECONDS, Authorizer


def _asks(authorizer: Authorizer, header: str | None) -> bool:
    headers = {} if header is None else {"authorization": header}
    return authorizer({"headers": headers})["isAuthorized"]


@pytest.mark.parametrize(
    ("header", "may"),
    [
        ("Bearer new", True),
        ("bearer  old ", True),
        ("Bearer newer", False),
        ("Bearer ", False),
        ("Bearer", False),
        ("Basic new", False),
        ("new", False),
        ("Bearer ключ", False),
        (None, False),
    ],
)
def test_current_and_previous_key_are_accepted(header: str | None, may: bool) -> None:
    assert _asks(Authorizer(lambda: ["new", "old", ""]), header) is may


def test_requests_are_denied_without_configured_keys() -> None:
    assert not _asks(Authorizer(lambda: [""]), "Bearer ")


def test_keys_are_cached_and_rotated_keys_are_loaded() -> None:
    asked: list[Any] = []
    now = [0.0]

    def keys() -> list[str]:
        asked.append(now[0])
        return ["one"] if len(asked) == 1 else ["two", "one"]

    authorizer = Authorizer(keys, lambda: now[0])
    passing = [_asks(authorizer, f"Bearer {key}") for key in ("one", "two", "one")]
    assert passing == [True, False, True]
    now[0] = CACHE_SECONDS
    assert [_asks(authorizer, f"Bearer {key}") for key in ("one", "two")] == [True, True]
    assert asked == [0.0, CACHE_SECONDS]


def test_denied_key_is_not_logged(capsys: pytest.CaptureFixture[str]) -> None:
    assert not _asks(Authorizer(lambda: ["new"]), "Bearer nearly-new")
    output = capsys.readouterr().out
    assert "invalid API key" in output
    assert "nearly" not in output
