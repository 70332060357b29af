"""Decide whether a name, such as `db.password` or `apiKey`, marks its value as secret."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Literal

Strength = Literal["", "weak", "strong", "password"]
"""Weak names, such as `token`, are also names of harmless values; values of passwords are secret
even if they are numbers."""

_PASSWORDS = ("password", "passwd", "passphrase", "passcode", "pwd", "passwort")
_SECRETS = (
    *("secret", "secretstring", "secretvalue", "secrettext", "secretkeybase", "clientsecretvalue"),
    *("secrets", "awskeyid", "sharedaccesssignature", "githubpat", "gitlabpat", "devopspat"),
    "credentialsjson",
)
OWNERS_OF_KEYS = (
    *("access", "account", "api", "app", "application", "auth", "cipher", "client", "consumer"),
    *(
        "decryption",
        "encryption",
        "fernet",
        "hmac",
        "jwt",
        "license",
        "master",
        "private",
        "secret",
    ),
    *("shared", "signing", "ssh", "storage", "subscription"),
)
OWNERS_OF_TOKENS = (
    *("access", "api", "auth", "bearer", "client", "deploy", "id", "refresh", "sas", "security"),
    *("session",),
)
OWNERS_OF_PASS = (
    *("admin", "api", "app", "auth", "client", "db", "email", "ftp", "http", "kafka", "keystore"),
    *(
        "ldap",
        "login",
        "mail",
        "mongo",
        "mssql",
        "my",
        "mysql",
        "oracle",
        "pg",
        "postgres",
        "proxy",
    ),
    *("rabbitmq", "redis", "redshift", "root", "service", "smtp", "snowflake", "sql", "ssh", "svc"),
    *("truststore", "user"),
)
_STRONG = (
    *_SECRETS,
    *(f"{owner}key{end}" for owner in OWNERS_OF_KEYS for end in ("", "s", "id", "sid")),
    *(f"{owner}token{end}" for owner in OWNERS_OF_TOKENS for end in ("", "s")),
)
_ALL_PASSWORDS = (
    *_PASSWORDS,
    *(f"{password}s" for password in _PASSWORDS),
    *(f"{owner}pass" for owner in OWNERS_OF_PASS),
)
_WEAK = ("token", "credential", "credentials", "authorization", "cookie")
_LAST_WORDS = {"pass": "password", "pw": "password", "psw": "password", "auth": "strong"}
_NOT_LETTERS = re.compile(r"[^a-z0-9]+")
_LAST_WORD = re.compile(r"(?:^|[^A-Za-z0-9]|(?<=[a-z0-9])(?=[A-Z]))([A-Z]?[a-z]+|[A-Z]+)\d{0,2}$")
# fs.azure.account.key.<account> and adls.sas-token.<account>
_STORAGE = re.compile(
    r"(?:fs\.azure\.|adls\.)(?:[\w.-]{0,64}\.)?"
    r"(?:account\.key|secret|sas|sas-token|token(?!\.provider))\.[\w.-]+$",
    re.IGNORECASE,
)
_LONGEST = 256


def strength(name: str) -> Strength:
    """Return how strongly a name marks its value as secret; empty if it does not."""
    return _strength(name[-_LONGEST:]) if name[-1:].isalnum() else ""


def is_secret_name(name: str) -> bool:
    """Return True if the value of a name is secret. Case, separators and digits do not count."""
    return strength(name) != ""


@lru_cache(maxsize=8_192)
def _strength(name: str) -> Strength:
    """Return how strongly a name marks its value as secret; its end decides, without separators.

    `DB_PASSWORD2` ends like `password`. Short words count only as the whole last word: `db_pass`,
    but not `compass`. `fs.azure.account.key.x` names the key of a storage.
    """
    letters = _NOT_LETTERS.sub("", name.lower()).rstrip("0123456789")
    if letters.endswith(_ALL_PASSWORDS):
        return "password"
    if letters.endswith(_STRONG):
        return "strong"
    if letters.endswith(_WEAK):
        return "weak"
    word = _LAST_WORD.search(name)
    if word is not None and (last := _LAST_WORDS.get(word[1].lower())):
        return _of_last_word(name, last)
    return "strong" if _STORAGE.search(name) else ""


def _of_last_word(name: str, last: str) -> Strength:
    if last == "password":
        return "password"
    return "strong" if name.lower().endswith("_auth") else ""
