"""Find the secrets in calls of SQL functions by their position: `pgp_sym_decrypt(x, 'key')`."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from .spans import Span

_LAST = -1
_FUNCTIONS: dict[str, int] = {
    **dict.fromkeys(("pgp_sym_encrypt", "pgp_sym_decrypt"), 1),
    **dict.fromkeys(("pgp_sym_encrypt_bytea", "pgp_sym_decrypt_bytea", "pgp_pub_decrypt"), 1),
    **dict.fromkeys(("aes_encrypt", "aes_decrypt", "des_encrypt", "des_decrypt"), 1),
    "try_aes_decrypt": 1,
    **dict.fromkeys(("encryptbypassphrase", "decryptbypassphrase"), 0),
    **dict.fromkeys(("mysql", "postgresql", "mongodb", "redis", "azureblobstorage"), 4),
    **dict.fromkeys(("remote", "remotesecure"), 4),
    **dict.fromkeys(("s3", "s3cluster", "gcs", "oss", "cosn"), 2),
    "openrowset": _LAST,
    **dict.fromkeys(("password", "old_password"), 0),
}
"""Functions with the position of their secret; `_LAST` are separated by semicolons."""

FUNCTIONS = frozenset(_FUNCTIONS)

_LONGEST = 4_096
_TOKEN = re.compile(
    r"'(?P<text>(?:[^']|'')*+)(?:'|$)|(?P<call>\w{1,64}+)\s{0,4}\(|(?P<mark>[(),;])|[^'(),;\w]++|\w++"
)
_ACCESS_KEY = re.compile(r"[A-Z0-9_]{12,128}")
_REGION = re.compile(r"[A-Z]{2,8}")


@dataclass(slots=True)
class _Call:
    """A call that is read: its name, the current argument, and the texts by argument."""

    name: str
    index: int = 0
    texts: list[tuple[int, str, Span]] = field(default_factory=list)


def secrets_of_call(text: str, start: int) -> tuple[list[Span], int]:
    """Return the secrets of the call that starts at a position, and its end.

    Calls among its arguments are read as well.
    """
    spans: list[Span] = []
    calls: list[_Call] = []
    end = start
    for match in _TOKEN.finditer(text, start, start + _LONGEST):
        end = match.end()
        if match["call"]:
            calls.append(_Call(match["call"].lower()))
        elif not calls:
            break
        elif match["text"] is not None:
            calls[-1].texts.append((calls[-1].index, match["text"], match.span("text")))
        elif match["mark"] == "(":
            calls.append(_Call(""))
        elif match["mark"] == ")":
            spans += _secrets(calls.pop())
            if not calls:
                break
        elif match["mark"] in (",", ";"):
            calls[-1].index += 1
    for call in calls:
        spans += _secrets(call)
    return spans, end


def _secrets(call: _Call) -> list[Span]:
    """Return the secret of a call: the text in the position of the secret of its function.

    In `s3(url, key, secret)`, the secret follows an access key. In OPENROWSET, it is the fourth
    text of `('provider', 'server';'user';'password', …)`. Texts that are masked already (`***`) are
    skipped.
    """
    position = _FUNCTIONS.get(call.name)
    if position is None:
        return []
    texts = {index: (text, span) for index, text, span in call.texts if text and text != "***"}
    if position == _LAST:
        return [texts[3][1]] if 3 in texts else []
    if call.name in _STORAGES:  # a cluster may precede the URL, and the keys may be left out
        first = 1 if call.name == "s3cluster" else 0
        masked = {index for index, text, _ in call.texts if text == "***"}
        keys = [
            index for index in (first + 1, 1) if index in masked or _is_access_key(texts.get(index))
        ]
        return [texts[keys[0] + 1][1]] if keys and keys[0] + 1 in texts else []
    return [texts[position][1]] if position in texts else []


_STORAGES = {"s3", "s3cluster", "gcs", "oss", "cosn"}


def _is_access_key(item: tuple[str, Span] | None) -> bool:
    return item is not None and _ACCESS_KEY.fullmatch(item[0]) is not None
