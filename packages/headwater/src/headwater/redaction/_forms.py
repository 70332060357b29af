"""Patterns of secrets, such as passwords in URLs, private keys and vendor tokens.

The token patterns follow the rules of gitleaks and detect-secrets. Every quantifier that can start
at many positions of a text has an upper limit, so that no text takes quadratic time.
"""

from __future__ import annotations

import base64
import binascii
import json
import re

from headwater.redaction._rules import MASK, Group
from headwater.redaction._scanned import CALLS, COMMANDS
from headwater.redaction._words import WORDS

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


_TOKENS = {
    "akia": r"AKIA[0-9A-Z]{16}(?![0-9A-Za-z])",
    "asia": r"ASIA[0-9A-Z]{16}(?![0-9A-Za-z])",
    "abia": r"ABIA[0-9A-Z]{16}(?![0-9A-Za-z])",
    "acca": r"ACCA[0-9A-Z]{16}(?![0-9A-Za-z])",
    "absk": r"ABSK[A-Za-z0-9+/]{109,269}={0,2}",
    "ltai": r"LTAI[A-Za-z0-9]{20}(?![0-9A-Za-z])",
    "akid": r"AKID[A-Za-z0-9]{32}(?![0-9A-Za-z])",
    **{f"gh{kind}_": rf"gh{kind}_[0-9A-Za-z_]{{36,255}}" for kind in "pousr"},
    "github_pat_": r"github_pat_\w{22,255}",
    **{
        f"gl{kind}-": rf"gl{kind}-[\w.-]{{20,1024}}"
        for kind in ("pat", "dt", "ft", "soat", "rt", "cbt", "ptt", "imt", "agent", "oas", "ffct")
    },
    "gloas-": r"gloas-[\w-]{64}",
    "gr1348941": r"GR1348941[\w-]{20,50}",
    "_gitlab_session=": r"_gitlab_session=[0-9a-z]{32}",
    "xox": r"xox[abeoprs](?:\.xox[bp])?-[\w-]{8,255}",
    "xapp-": r"xapp-\d-[A-Za-z0-9-]{10,255}",
    "hooks.slack.com": r"hooks\.slack\.com\\?/(?:services|workflows|triggers)\\?/[\w+/\\-]{20,255}",
    "webhookb2": r"webhook\.office\.com/webhookb2/[\w@/-]{36,512}",
    "discord": r"discord(?:app)?\.com\\?/api\\?/webhooks\\?/\d{5,32}\\?/[\w-]{20,128}",
    **{
        f"{kind}k_{stage}_": rf"{kind}k_{stage}_[0-9A-Za-z]{{10,255}}"
        for kind in "rs"
        for stage in ("live", "test", "prod")
    },
    "whsec_": r"whsec_[0-9A-Za-z+/=]{20,255}",
    "dapi": r"dapi[a-f0-9]{32}(?:-\d)?(?![0-9A-Za-z])",
    "dose": r"dose[a-f0-9]{32}(?![0-9A-Za-z])",
    "aiza": r"AIza[\w-]{35}",
    "ya29.": r"ya29\.[\w-]{20,2048}",
    "gocspx-": r"GOCSPX-[\w-]{20,64}",
    "npm_": r"npm_[0-9A-Za-z]{36}",
    "pypi-age": r"pypi-AgE[\w-]{50,1000}",
    "sg.": r"SG\.[\w-]{16,32}\.[\w-]{16,64}",
    "sk-": r"sk-(?:(?:proj|svcacct|admin|ant|or)-[\w-]{20,255}|[0-9A-Za-z]{40,64})",
    "t3blbkfj": r"sk-[\w-]{1,200}T3BlbkFJ[\w-]{1,200}",
    "hf_": r"hf_[A-Za-z]{34}(?![0-9A-Za-z])",
    **{f"do{kind}_v1_": rf"do{kind}_v1_[a-f0-9]{{64}}" for kind in "opr"},
    **{f"hv{kind}.": rf"hv{kind}\.[\w-]{{24,300}}" for kind in "sbr"},
    "glsa_": r"glsa_[0-9A-Za-z]{32}_[0-9A-Fa-f]{8}",
    "glc_": r"glc_[0-9A-Za-z+/]{32,400}={0,3}",
    "dbtc_": r"dbtc_[\w-]{30,128}",
    "dbtu_": r"dbtu_[\w-]{30,128}",
    "q~": r"[\w~.]{3}\dQ~[\w~.-]{31,34}",
    **{f"shp{kind}_": rf"shp{kind}_[a-fA-F0-9]{{32}}" for kind in ("at", "ca", "pa", "ss")},
    "sq0": r"sq0(?:atp|csp)-[\w-]{22,60}",
    ":aa": r"\d{8,10}:AA[\w-]{33}",
    "pmak-": r"PMAK-[a-f0-9]{24}-[a-f0-9]{34}",
    "pul-": r"pul-[a-f0-9]{40}",
    "pnu_": r"pnu_[0-9A-Za-z]{36}",
    "dt0c01.": r"dt0c01\.[0-9A-Za-z]{24}\.[0-9A-Za-z]{64}",
    "nrak-": r"NRAK-[0-9A-Z]{27}",
    "dp.pt.": r"dp\.pt\.[0-9A-Za-z]{43}",
    "lin_api_": r"lin_api_[0-9A-Za-z]{40}",
    "ntn_": r"ntn_[0-9A-Za-z]{46}",
    "hrku-": r"HRKU-[\w-]{36,64}",
    "sntryu_": r"sntryu_[a-f0-9]{64}",
    "sntrys_": r"sntrys_[0-9A-Za-z+/=_-]{50,512}",
    "pscale_": r"pscale_(?:tkn|oauth|pw)_[\w=.-]{32,64}",
    ".atlasv1.": r"[0-9A-Za-z]{14}\.atlasv1\.[\w=-]{60,70}",
    "age-secret-key-1": r"AGE-SECRET-KEY-1[0-9A-Z]{58}",
    "ops_eyj": r"ops_eyJ[0-9A-Za-z+/]{100,2048}={0,3}",
    "fo1_": r"fo1_[\w-]{43}",
}
TOKENS = tuple(
    Group(marker, (rf"(?<![0-9A-Za-z])(?-i:{pattern})", MASK), check=pattern.encode())
    for marker, pattern in _TOKENS.items()
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
    Group("pwd%3d", r"(pwd%3d)(?:(?!%3b)[^\s&'\"]){1,512}"),
    Group("code=", r"([?&]code=)[\w%+/=-]{16,512}"),
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
