"""Secrets in source code other than Python are masked by its syntax, on servers and producers."""

from __future__ import annotations

import time

import pytest

from headwater.redaction import DEFAULT
from headwater_client.masking.source import mask_source
from headwater_client.masking.text import mask_text
from packages.headwater.tests.support import secret_sources as sources

_SECRET = "Vr7mPz2kQx"
_FORMS = [
    '.option("user", "app").option("password", s"§")',
    'implicit val token: Option[String] = Some("§")',
    'dataSource.setPassword("§".toCharArray);',
    'public static String getPassword() { return "§"; }',
    'if ("§".equals(password)) login();',
    '@Value("${db.password:§}") String value;',
    'Optional<String> token = Optional.of("§");',
    "password=$'§'",
    ': "${DB_PASSWORD:=§}"',
    'read -r password <<< "§"',
    'echo "§" | docker login -u app --password-stdin registry',
    'echo "app:§" | chpasswd',
    "declare -A conf=([user]=app [password]=§)",
    'cache.computeIfAbsent("password", key -> "§");',
    'password <- "§"',
    '"§" -> password',
    'settings[["password"]] <- "§"',
    'password <- r"(§)"',
    "const settings = { 'password': `§` }",
    'const password = process.env.DB_PASSWORD || "§";',
    'const token = process.env.TOKEN ?? "§";',
    "api_key: !!str §",
    "password: &first §",
    "password: |\n  §",
    "password:\n  §",
    "args:\n  - --password\n  - §",
    'variable "db_password" {\n  type = string\n  default = "§"\n}',
    'name  = "db.password"\n  value = "§"',
    "password = <<-EOT\n  §\nEOT",
    'password = var.x != "" ? var.x : "§"',
    "db.password §",
    "auth.token = Bearer §",
]
_PLAIN = [
    'password <- Sys.getenv("DB_PASSWORD")',
    "password: ${DB_PASSWORD}",
    'val password = dbutils.secrets.get(scope = "jdbc", key = "password")',
    'df.withColumn("token", col("token"))',
    "password:\n  secretKeyRef: database",
    'variable "password" {\n  type = string\n  sensitive = true\n}',
    "db.password is wrong",
    'const tokens = words.map(word => word.split("-"))',
    "SELECT token, count(*) FROM t WHERE token = :token GROUP BY token",
    "const password = process.env.PASSWORD || defaults.password;",
    'case "$password" in "") usage ;; esac',
    'cache.computeIfAbsent("name", key -> "text");',
]


@pytest.mark.parametrize("form", [*_FORMS, *sources.BRACES, *sources.SHELL])
def test_secret_in_source_code_is_masked(form: str) -> None:
    code = form.replace("§", _SECRET)
    for masked in (DEFAULT.redact_text(code), mask_text(code)):
        assert _SECRET not in masked
        assert "***" in masked


@pytest.mark.parametrize("code", [*_PLAIN, *sources.HARMLESS])
def test_source_code_without_secrets_stays_readable(code: str) -> None:
    assert DEFAULT.redact_text(code) == code
    assert mask_text(code) == code


_UNITS = (
    *(
        '"',
        '\\"',
        "'",
        "`",
        '"""',
        "/*",
        "//",
        "a<",
        "(",
        "[",
        "{",
        ")",
        "f(",
        "$(",
        "a$(",
        "<<A\n",
    ),
    *('password = "', 'f("password",', '"password" -> (', "password\n", "password?:", "password=("),
    *("password=$(", "read password <<A\nA", "--password ", "case $a in ", "a'", "password='a'\""),
    *("password = ", "password_a.b-", "\n password", "- - "),
)


@pytest.mark.replay
@pytest.mark.parametrize("form", [*_FORMS, *_UNITS])
def test_time_grows_linearly_with_hostile_source_code(form: str) -> None:
    unit = form.split("§")[0] or form

    short, long = (unit * (size // len(unit)) for size in (20_000, 80_000))
    # It takes 4 times as long; a busy machine may slow an attempt.
    most = 0.1 + 8 * min(_seconds(short) for _ in range(2))
    assert any(_seconds(long) < most for _ in range(2))


def _seconds(text: str) -> float:
    start = time.process_time()
    mask_source(text, "***")
    return time.process_time() - start
