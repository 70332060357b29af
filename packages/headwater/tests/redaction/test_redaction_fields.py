"""Secrets in objects with a name and a value, in pairs and in setters are masked."""

from __future__ import annotations

from typing import Any

import orjson
import pytest

from headwater.redaction import DEFAULT, MASK
from headwater_client.masking.fields import mask_fields
from packages.headwater.tests.support import secret_forms as forms

_TEXTS = (
    '{"name": "password", "value": "§"}',
    '{"name":"db.password","type":"string","value":"§"',
    '{"value": "§", "name": "password"}',
    '{"key": "api_key", "stringValue": "§"}, {"key": "x", "stringValue": "y"',
    '[{"name": "user", "value": "u"}, {"name": "password", "value": "§',
    '{"name": "password", "labels": {"a": "b"}, "value": "§"}',
    '{\\"name\\": \\"password\\", \\"value\\": \\"§\\"}',
    "{'key': 'db_password', 'default': '§'}",
    '[["user", "u"], ["password", "§"]]',
    '{"conf": [["spark.ssl.keyPassword", "§"], ["a"',
    'List(("user", "u"), ("password", "§"))',
    'builder.setPassword("§").build()',
    'Config().withApiKey("§");',
    'new Builder().user("u").password("§")',
    'properties.set_password("§")',
    'def connect(user: str, password: str = "§"',
    "SET PASSWORD FOR 'u'@'h' = '§'",
    "set password for u to '§'",
    'Map.of("user", "u", "password", "§")',
    'Map.entry("password", "§"',
    '[["user","u"],["password","§"',
    'new PasswordAuthentication("u", "§".toCharArray())',
    'AwsBasicCredentials.create("AKIAX", "§")',
    'DriverManager.getConnection(url, "user", "§");',
    "name=password value=§",
    '- name: DB_PASSWORD\n  value: "§"',
    '<entry key="password">§</entry>',
    '<property name="password" value="§"/>',
    'sqlplus -s u/"§"@db',
    'impdp system/\\"§\\"@orcl directory=d',
    "sqlldr userid=scott/§@db control=c",
    "az login --service-principal -u a -p § --tenant t",
)
_HARMLESS = (
    '{"name": "password", "type": "string"}, {"name": "x", "value": "y"}',
    '{"name": "token_count", "value": "17"}',
    '{"name": "password", "value": "***"}',
    '[["password", "email"], ["token", "string"]]',
    'client.getPassword("prod/db")',
    'frame.select("password")',
    'hidePasswordFor("jane")',
    '["password", "email"]',
    'select("id", "password", "x1")',
    'f("id", "password", "email")',
    "DriverManager.getConnection(url, properties)",
    "- name: DB_PASSWORD\n  valueFrom: x1",
    "name=token_count value=17",
    'sqlplus /nolog "@script"',
    'def f(password: str = ""): ...',
)


@pytest.mark.parametrize("form", _TEXTS)
def test_value_of_a_secret_name_is_masked(form: str) -> None:
    text = form.replace("§", forms.SECRET)
    for masked in (
        DEFAULT.redact_text(text),
        DEFAULT.redact_line(text),
        DEFAULT.redact_line(orjson.dumps(text).decode()),
    ):
        assert forms.SECRET not in masked
        assert MASK in masked
    assert DEFAULT.redact_text(DEFAULT.redact_text(text)) == DEFAULT.redact_text(text)


@pytest.mark.parametrize("text", _HARMLESS)
def test_value_of_another_name_is_unchanged(text: str) -> None:
    assert mask_fields(text, MASK) == text
    assert DEFAULT.redact_text(text) == text


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ([["password", "x1"], ["user", "u"]], [["password", MASK], ["user", "u"]]),
        ([["password", "email"]], [["password", "email"]]),
        (["password", "x1"], ["password", "x1"]),
        ([["token", {"a": "x1"}]], [["token", {"a": MASK}]]),
    ],
)
def test_list_of_pairs_is_masked(value: Any, expected: Any) -> None:
    assert DEFAULT.redact(value) == expected
