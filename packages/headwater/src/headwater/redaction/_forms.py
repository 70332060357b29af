"""Patterns of secrets, such as passwords in URLs, private keys and vendor tokens.

Every quantifier that can start at many positions of a text has an upper limit, so that no text
takes quadratic time.
"""

from __future__ import annotations

import base64
import binascii
import json
import re

from headwater.redaction._rules import MASK, Group
from headwater.redaction._scanned import CALLS, COMMANDS
from headwater.redaction._words import WORDS
from headwater_client.masking.tokens import PATTERNS

# user:password@ and, for http, a token as the user; most lower-case words are names.
URLS = Group(
    "@",
    (
        r"(:(?:\\{0,8}/){2}[^/\s:@'\"\\?#]{0,256}):"
        # A password with a slash and an @: the last host has a port, which a path cannot have.
        r"(?:(?!\d{1,5}(?:\\?/|[?#]))(?:(?!://)[^\s'\"]){0,512}(?=@[\w.-]{1,253}:\d{1,5}(?!\d))"
        r"|[^\s'\"/?#]{0,512}|(?!\d{1,5}(?:\\?/|[?#]))[^\s'\"@]{0,512})@",
        rf"\1:{MASK}@",
    ),
    (
        r"(https?:(?:\\{0,8}/){2})(?!(?-i:[a-z][a-z.-]{0,19})@)[^/\s:@'\"\\?#]{1,512}@",
        rf"\1{MASK}@",
    ),
    check=rb":(?:\\{0,8}/){2}(?:[^\"\s:@]++|:(?!\\{0,8}/))*+@",
)

TOKENS = tuple(
    Group(marker, (rf"(?<![0-9A-Za-z])(?-i:{pattern})", MASK), check=pattern.encode())
    for marker, pattern in PATTERNS.items()
)


def _if_jwt(match: re.Match[str]) -> str:
    """Mask a JSON Web Token: its first part is the JSON of an object with an algorithm."""
    head = match["head"]
    try:
        header = json.loads(base64.urlsafe_b64decode(head + "=" * (-len(head) % 4)))
    except (binascii.Error, ValueError, RecursionError):
        return match[0]
    return MASK if isinstance(header, dict) and ("alg" in header or "enc" in header) else match[0]


FORMS = (
    Group(
        "private key",
        (
            r"-----BEGIN [A-Z0-9 _-]{0,40}PRIVATE KEY(?: BLOCK)?-----(?s:.*?)"
            r"(?:-----END [A-Z0-9 _-]{0,40}PRIVATE KEY(?: BLOCK)?-----|\Z)",
            MASK,
        ),
        is_unbounded=True,
    ),
    Group(
        "eyj",
        (
            r"(?<![0-9A-Za-z_-])(?P<head>(?-i:eyJ)[\w-]{10,4096})"
            r"(?:\.[\w-]{0,16384}){1,3}\.[\w-]{8,16384}",
            _if_jwt,
        ),
        check=rb"(?:(?<![\w-])|(?<=\\[nrt]))eyj[\w-]{10,4096}\.",
    ),
    Group(
        ("sig=", "signature=", "x-amz-", "x-goog-"),
        (
            r"([?&;](?:sig|signature|x-(?:amz|goog)-(?:signature|credential|security-token))=)"
            r"[^\s&'\"]{1,8192}"
        ),
        r"(\bsignature=)[0-9a-f]{64}\b",
    ),
    Group(
        ("bearer", "basic"),
        (r"\b(bearer|basic)\s{1,8}(?=\S{0,256}[\d=])[\w.~+/-]{16,8192}={0,2}", rf"\1 {MASK}"),
        check=rb"(?:bearer|basic)(?:\s|\\[nrt]){1,8}[\w.~+/\\-]{16}",
    ),
    Group(
        "jdbc:oracle",
        (r"(jdbc:oracle:\w{1,16}:[^/@\s'\"]{1,128}/)[^@\s'\"]{1,256}@", rf"\1{MASK}@"),
    ),
    Group("configure set", r"(\bconfigure set \S{0,64}(?:key|token)\S{0,16}\s{1,8})\S{1,256}"),
    Group("az login", r"(\baz login\b[^\n|;&]{0,256}?\s(?:-p|--password)\s{1,8})[^\s'\"]{1,512}"),
    Group(
        "getconnection(",
        (
            r"(\bgetConnection\([^()\n]{1,512},[^(),\n]{1,256},\s{0,8}\\{0,8})(['\"])[^'\"\n\\]{1,512}",
            rf"\1\2{MASK}",
        ),
    ),
    Group("pwd%3d", r"(pwd%3d)(?:(?!%3b)[^\s&'\"]){1,512}"),
    Group("code=", r"([?&]code=)[\w%+/=~.-]{16,512}"),
    Group(
        "basic.auth.user.info",
        r"(basic\.auth\.user\.info\\{0,8}['\"]?\s{0,8}[=:,]\s{0,8}\\{0,8}['\"]?[^:'\"\s]{1,128}:)"
        r"[^'\"\s,\\]{1,256}",
    ),
    Group(
        "sas-token.",
        r"(sas-token\.[\w.-]{1,128}+\\{0,8}['\"]?\s{0,8}[=:,]\s{0,8}\\{0,8}['\"]?)[^\s'\"},\\]{1,2048}",
    ),
    Group(
        ("auth=", "auth ="),
        (
            r"(\bauth\s?=\s?\(\s{0,8}['\"][^'\"]{0,128}['\"]\s{0,8},\s{0,8})['\"][^'\"]{1,512}['\"]",
            rf"\1'{MASK}'",
        ),
    ),
)

GROUPS = (*FORMS, COMMANDS, CALLS, *WORDS, URLS, *TOKENS)
"""All groups in the order in which they are applied."""
