"""Recognise SQL by its first words: a statement's keyword and what must follow it."""

from __future__ import annotations

import re

_SHORTEST = 8
_NAME = r"[\w.$\"'`\[\]{}@:#-]{1,256}+"
_NO_ARTICLE = (  # a column may be called `a`, but then a keyword or a sign follows
    r"(?!(?:the|a|an|your|this|that|these|those|its|our|any|each|some|which|one)\s+(?!(?:from|as|into|is"
    r"|in|where|join|group|order|limit|having|union|left|right|inner|full|cross|set|using|values"
    r"|select)\b)\w)"
)
_OBJECT = (
    r"(?:(?:external|temp|temporary|transient|global|local|materialized|unique|foreign|iceberg|or\s+replace)\s+)*"
    r"(?:table|view|schema|database|function|procedure|index|stage|stream|task|pipe|user|role|sequence)"
)
_STATEMENTS = (
    # The first item of a SELECT is followed by a comma, FROM, AS, an operator or the end.
    rf"select\s+(?:distinct\s+|all\s+|top\s+\(?\d+\)?\s+)?{_NO_ARTICLE}(?:[*'\"(\d@]|case\s+when\b"
    rf"|{_NAME}\s*(?:[,(;=<>+*/|%)-]|::|$|(?:from|as|into|over|is|in|between)\s+{_NO_ARTICLE}[\w.\"'`(\[{{$]))",
    rf"with\s+(?:recursive\s+)?{_NAME}\s*(?:\([^()]{{0,512}}\)\s*)?as\s+(?:(?:not\s+)?materialized\s+)?\(",
    rf"(?:insert|replace|upsert)\s+(?:overwrite\s+|ignore\s+)?(?:into\s+|overwrite\s+)?(?:table\s+)?{_NO_ARTICLE}"
    rf"{_NAME}\s*(?:\(|values\b|select\b|with\b|partition\b|default\b|from\b|by\s+name\b|table\b|$)",
    rf"update\s+(?:only\s+)?{_NO_ARTICLE}{_NAME}\s+(?:as\s+)?(?:\w{{1,64}}\s+)?set\s+{_NAME}\s*=",
    rf"delete\s+from\s+{_NO_ARTICLE}{_NAME}\s*(?:;|$|(?:as\s+)?(?:\w{{1,64}}\s+)?(?:where|using)\b)",
    rf"merge\s+into\s+{_NAME}\s+(?:as\s+)?(?:\w{{1,64}}\s+)?using\b",
    rf"create\s+(?:or\s+(?:replace|alter)\s+)?{_OBJECT}\s+(?:if\s+not\s+exists\s+)?{_NO_ARTICLE}"
    rf"{_NAME}\s*(?:\(|$|;|(?:as|using|like|clone|on|with|location|comment|partition|stored|identified|password)\b)",
    rf"drop\s+{_OBJECT}\s+(?:if\s+exists\s+)?{_NO_ARTICLE}{_NAME}\s*(?:;|$|cascade\b|restrict\b|purge\b|\()",
    rf"alter\s+{_OBJECT}\s+(?:if\s+exists\s+)?{_NO_ARTICLE}{_NAME}\s+"
    r"(?:add|drop|rename|alter|set|unset|modify|change|owner|with|enable|disable|identified|resume|suspend)\b",
    rf"truncate\s+table\s+{_NAME}\s*(?:;|$)",
    r"(?:grant|revoke)\s+(?:(?:select|insert|update|delete|all|usage|execute|create)\s*(?:,|\(|on\s|privileges\b)"
    rf"|role\s+{_NAME}\s+(?:to|from)\s)",
    rf"copy\s+(?:into\s+)?(?:{_NAME}|\([^()]{{0,512}}\))\s*(?:\([^()]{{0,512}}\)\s*)?(?:from|to)\s+(?:['@({{\"$]|s3:)",
    r"unload\s*\(\s*['$]|load\s+data\s+(?:local\s+)?inpath\b|msck\s+repair\s+table\b",
    r"(?:explain|analyze|describe)\s+(?:analyze\s+|extended\s+|formatted\s+)?(?:select|with|insert)\s+\S",
    rf"(?:call|exec|execute)\s+{_NAME}(?:\(|\s+@|\s+')",
    rf"(?:refresh|optimize|vacuum|cache|uncache|repair)\s+(?:materialized\s+view|table)\s+{_NAME}\s*(?:;|$|zorder|where)",
    r"values\s*\(\s*(?:['\d?:]|null\b)",
    rf"from\s+{_NO_ARTICLE}{_NAME}\s+(?:\w{{1,64}}\s+)?(?:select\s|insert\s+(?:into|overwrite)\s|\|>)",
    rf"(?:where|having)\s+{_NAME}\s*(?:[=<>]|!=|(?:not\s+)?(?:in\s*\(|like\s+'|between\s+[\d']|is\s+(?:not\s+)?null\b))",
    r"declare\s+@?\w{1,64}\s+\w{1,64}.{0,64}(?:;|=)|begin\s*(?:;|transaction\b|tran\b|atomic\b)",
    rf"set\s+@?[\w.]{{1,128}}\s*=\s*[\w'\"(]|use\s+(?:catalog|schema|database|warehouse|role)\s+{_NAME}\s*(?:;|$)",
)
# At the start, or after a sign that may precede a statement within another text.
_SQL = re.compile(
    rf"(?:^|[;:(\"'`=\[{{}}>\n]|\*/|(?:SQL|statement|query|command|executing|near|by|as)\s)[\s(\[]{{0,64}}+"
    rf"(?:{'|'.join(_STATEMENTS)})",
    re.IGNORECASE,
)
_KEYWORD = re.compile(
    r"\b(?:select|with|insert|replace|upsert|update|delete|merge|create|drop|alter|truncate|grant"
    r"|revoke|copy|unload|load|msck|explain|analyze|describe|call|exec|execute|refresh|optimize|vacuum"
    r"|cache|uncache|repair|values|from|where|having|declare|begin|set|use)\b",
    re.IGNORECASE,
)
_CODE_SIGNS = re.compile(r"[*,;()=<>'\"`\n\[]")
_EXPRESSION = re.compile(
    r"\w{1,64}\s?\([^()]{0,512}[)(]|::\s?\w|\bcase\s+when\b|[\w)'\"]\s?(?:[=<>|+*/%]|!=|<>|\|\|)\s?[\w('\"]"
    r"|\bcast\s*\(|\bover\s*\(",
    re.IGNORECASE,
)


def reads_as_sql(text: str) -> bool:
    """Return True if a text is, or contains, a statement of SQL rather than a sentence."""
    if len(text) < _SHORTEST or _KEYWORD.search(text) is None:
        return False
    match = _SQL.search(text)
    if match is None:
        return False
    # "Select customers from Germany" is a sentence, unless other signs of SQL follow.
    is_sentence = text[:1].isupper() and text[1:2].islower()
    return not is_sentence or _CODE_SIGNS.search(text) is not None


def reads_as_expression(text: str) -> bool:
    """Return True if a text has a function call, a cast or an operator, as expressions have."""
    return _EXPRESSION.search(text) is not None or reads_as_sql(text)
