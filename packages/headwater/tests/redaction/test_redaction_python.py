"""Secrets in Python source are masked by its syntax tree; other strings stay unchanged."""

from __future__ import annotations

import ast

import orjson
import pytest

from headwater.redaction import DEFAULT, MASK
from headwater_client.masking.names import is_secret_name, strength
from headwater_client.masking.python import mask_python
from packages.headwater.tests.support import secret_forms as forms
from packages.headwater.tests.support import secret_sources as sources


@pytest.mark.parametrize("source", sources.PYTHON)
def test_secret_in_python_source_is_masked(source: str) -> None:
    code = source.replace("§", forms.SECRET)
    assert DEFAULT.is_suspicious(orjson.dumps(code))
    masked = mask_python(code, MASK)
    assert forms.SECRET not in masked
    assert MASK in masked
    assert forms.SECRET not in DEFAULT.redact_text(code)
    assert forms.SECRET not in DEFAULT.redact_line(orjson.dumps({"code": code})[:-1].decode())
    ast.parse(masked if masked[0] != " " else f"if 1:\n{masked}")
    assert mask_python(masked, MASK) == masked


@pytest.mark.parametrize("source", sources.HARMLESS_PYTHON)
def test_harmless_python_source_is_unchanged(source: str) -> None:
    assert DEFAULT.redact_text(source) == source


def test_only_the_secret_string_of_a_source_changes() -> None:
    before = 'é = "password"\r\nx = "ü"  # \\d\n'
    source = f'{before}password = """a\nb"""\nlast = "y"\n'
    assert mask_python(source, MASK) == f'{before}password = "{MASK}"\nlast = "y"\n'


@pytest.mark.parametrize(
    "source",
    ['f(password="x"', "(" * 41 + '"password"', "x = 'password'\n" * 5_000, "\0", "\ud800"],
)
def test_source_that_cannot_be_parsed_is_unchanged(source: str) -> None:
    assert mask_python(source, MASK) == source


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        *(("db.password", "password"), ("dbPassword2", "password"), ("DB_PASS", "password")),
        *(("X-Api-Key", "strong"), ("api key", "strong"), ("accessKeyId", "strong")),
        *(("fs.azure.account.key.acme.dfs", "strong"), ("adls.sas-token.acme.x", "strong")),
        *(("nextToken", "weak"), ("_auth", "strong"), ("pw", "password"), ("userPw", "password")),
        *(("password_hash", ""), ("max_tokens", ""), ("compass", ""), ("primaryKey", "")),
        *(("password_reset_at", ""), ("auth", ""), ("bypass", ""), ("keys", ""), ("", "")),
        *(("https://h?api_key=***", ""), ("password?", ""), ("the password", "password")),
    ],
)
def test_end_of_a_name_decides_whether_its_value_is_secret(name: str, expected: str) -> None:
    assert strength(name) == expected
    assert is_secret_name(name) == (expected != "")
