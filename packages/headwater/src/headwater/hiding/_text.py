"""Recognize SQL in texts without parsing it, so that it is found in any facet and any dialect.

A statement is a keyword and what must follow it: `delete from t where`, not "delete from the list".
Every search is linear in the length of the text. No library is needed.

A key without the scope `sql` must not receive SQL. A text that is wrongly taken for SQL is only
hidden, so doubtful texts count as SQL. Patterns in _CERTAIN follow their keyword anywhere; those in
_AT_BOUNDARY count only where a statement can begin.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

_I = re.IGNORECASE
_PROSE = (
    "the|an?|all|any|each|every|this|that|these|those|its?|our|your|their|his|her|my|one|some|both"
    "|of|for|to|in|on|at|by|with|from|and|or|other|here|there|which|us|them"
)
_NAME = (
    rf"(?!(?:{_PROSE})\b(?!\.\w))"
    r"(?>(?:(?:\"[^\"\n]{1,128}+\"|`[^`\n]{1,128}+`|'[^'\n]{1,256}+'|\[[^\]\n]{1,128}+\]"
    r"|\$?\{{1,2}[^{}\n]{1,256}+\}{1,2}|[\w$@#%:?][\w$@#%:-]{0,127}+)\.{0,2}+){1,6})"
)
_END = r"\s*+(?:$|[;)\"'`\\])"
_IF = r"(?:if\s+(?:not\s+)?exists\s+)?"
_KIND = (
    r"(?:(?:or\s+replace|temp(?:orary)?|global|local|transient|volatile|external|materialized"
    r"|unique|live"
    r"|streaming|recursive|secure|unlogged|foreign|managed|dynamic|hybrid|iceberg)\s+){0,4}"
    r"(?:table|view|database|schema|catalog|index|function|procedure|stage|sequence|role|user"
    r"|login|task"
    r"|stream|pipe|type|trigger|model|extension|policy|warehouse|secret|connection|server)\s+"
)
_PRIVILEGES = (
    "(?:select|insert|update|delete|all|usage|ownership|create|execute|references|truncate)"
)

# What follows a keyword in every text.
_CERTAIN = {
    "insert": rf"\s+(?:(?:or\s+\w+|ignore|all)\s+)?(?:into|overwrite)(?:\s+table"
    rf"|\s+directory)?\s+{_NAME}"
    r"\s*(?:\(|values\b|select\b|with\b|default\b|partition\b|table\b|as\b|by\s+name\b|stored\b"
    r"|using\b|\w+\s+(?:values|select)\b)",
    "replace": rf"\s+into\s+{_NAME}\s*(?:\(|values\b|select\b|with\b)",
    "update": rf"\s+{_NAME}(?:\s+(?:as\s+)?\w{{1,64}})?\s+set\s+(?:[\w.\"`\[\]]{{1,256}}"
    rf"|\([^()]{{1,256}}\))\s*=",
    "delete": rf"\s+from\s+{_NAME}(?:\s+(?:as\s+)?\w{{1,64}})?\s+(?:where|using)\b",
    "merge": rf"\s+into\s+{_NAME}(?:\s+(?:as\s+)?{_NAME})?\s+using\s*(?:\(|{_NAME})",
    "create": rf"\s+{_KIND}{_IF}{_NAME}\s*(?:\(|(?:as|using|like|clone|partitioned|stored"
    rf"|location|identified)\b)",
    "alter": rf"\s+{_KIND}{_IF}{_NAME}\s+(?:add|drop|rename|alter|set|unset|modify|change|swap"
    rf"|replace"
    r"|owner|cluster|enable|disable|attach|detach|partition|recover|refresh|resume|suspend|with"
    r"|identified|password)\b",
    "copy": rf"\s+(?:into\s+)?{_NAME}\s*(?:\([^()]{{0,512}}\)\s*)?\s(?:from|to)\s+['\"(@$]",
    "with": rf"\s+(?:recursive\s+)?{_NAME}\s*(?:\([^()]{{0,512}}\)\s*)?as\s*"
    rf"(?:not\s+)?(?:materialized\s*)?\(\s*"
    rf"(?:select|with|values|insert|update|delete|from|--|/\*)",
    "unload": r"\s*\(\s*(?:'|\$\$|select\b|with\b)",
    "values": r"\s*\(\s*(?:'|\d|null\b|-\d)",
    "grant": rf"\s+{_PRIVILEGES}[\w, ]{{0,128}}\son\s+(?:{_KIND})?{_NAME}\s+to\s+{_NAME}",
    "revoke": rf"\s+{_PRIVILEGES}[\w, ]{{0,128}}\son\s+(?:{_KIND})?{_NAME}\s+from\s+{_NAME}",
    "identified": r"\s+by\s+'",
}
# What follows a keyword at the beginning of a text, a line, a bracket or a quoted text.
_AT_BOUNDARY = {
    "insert": rf"\s+(?:into|overwrite)(?:\s+table)?\s+{_NAME}{_END}",
    "delete": rf"\s+from\s+{_NAME}{_END}",
    "create": rf"\s+{_KIND}{_IF}{_NAME}(?:{_END}|\s+(?:with|on|from|returns|comment|options"
    rf"|for\s+values|location|managed|password|in|start|type|url|authorization)\b)",
    "drop": rf"\s+{_KIND}{_IF}{_NAME}(?:{_END}|\s*,|\s+(?:cascade|restrict|purge|on)\b)",
    "truncate": rf"\s+(?:table\s+)?{_IF}{_NAME}{_END}",
    "call": rf"\s+{_NAME}\(",
    "where": rf"\s+{_NAME}\s*(?:[=<>]|!=|(?:not\s+)?(?:in\s*\(|like\s+'|between\s+['\d]"
    rf"|is\s+null\b))",
    "exec": rf"\s+{_NAME}(?:{_END}|\s*[@'(]|\s+\d)",
    "execute": rf"\s+(?:immediate\b|{_NAME}(?:{_END}|\s*[@'(]))",
    "set": rf"\s+(?:session\s+|local\s+|global\s+|var\s+)?{_NAME}\s*=",
    "declare": rf"\s+{_NAME}\s+(?:{_NAME}\s*)?(?:default|:=|=|cursor|int|varchar|string|date"
    rf"|number)",
    "refresh": rf"\s+(?:table|materialized\s+view)\s+{_NAME}",
    "optimize": rf"\s+(?:table\s+)?{_NAME}(?:{_END}|\s+(?:where|zorder|final|rewrite)\b)",
    "vacuum": rf"\s+(?:full\s+|analyze\s+)?{_NAME}(?:{_END}|\s+retain\b)",
    "analyze": rf"\s+table\s+{_NAME}",
    "msck": r"\s+repair\s+table\b",
    "cache": rf"\s+(?:lazy\s+)?table\s+{_NAME}",
    "uncache": rf"\s+table\s+{_NAME}",
    "load": r"\s+data\s+(?:local\s+)?(?:inpath|infile|overwrite|into)\b",
    "describe": rf"\s+(?:(?:table|extended|formatted|history|detail|function)\s+)+{_NAME}",
    "show": r"\s+(?:tables|databases|schemas|partitions|columns|views|create\s+table"
    r"|table\s+extended|functions|grants)(?:\s+(?:in|from|like)\b|\s*(?:$|;)"
    r"|\s+['\"`\w.]{1,256}\s*(?:$|;))",
    "comment": rf"\s+on\s+(?:table|column|view|schema)\s+{_NAME}\s+is\b",
    "pivot": rf"\s+{_NAME}\s+on\b",
    "upsert": rf"\s+into\s+{_NAME}",
    "attach": r"\s+(?:database\s+)?'[^'\n]{1,256}'",
    "begin": r"\s*(?:;|transaction\b\s*;|tran\b)",
}
_FROM = rf"\s+(?:only\s+|lateral\s+|table\s*\()?(?:\(|{_NAME})"
_AFTER_FROM = re.compile(
    rf"\s+{_NAME}(?:\s+(?:as\s+)?(?!(?:{_PROSE})\b)\w{{1,64}})?"
    r"(?:\s*(?:$|[;,)\"'`\\])|\s+(?:where|(?:(?:inner|left|right|full|cross|outer|natural|semi|anti)\s+){0,3}join"
    r"|group\s+by|order\s+by|having|limit|union|except|intersect|qualify|window|sample"
    r"|tablesample|lateral"
    r"|version|timestamp|for\s+(?:system|update)|fetch|offset|pivot|unpivot|with)\b)",
    _I,
)
_SELECTS_VALUE = re.compile(
    r"\s*(?:distinct\s+|all\s+|top\s*\(?\d+\)?\s+|/\*[^*]{0,256}\*/\s*)?"
    r"(?:\*\s*(?:$|;|except|exclude|replace|,)|['@]|-?\d[\d.]*\s*(?:$|[,;)+*/=<>|-]|as\b|from\b"
    r"|union\b|where\b)"
    r"|null\b|(?:case\s+when|cast|count|sum|max|min|avg|current_\w+|\w{1,64})\("
    r"|[\w.]{1,128}\s*(?:::|\|\|)|[\w.]{1,128}\s*=\s*['\d@])",
    _I,
)
_KEYWORDS = re.compile(
    rf"\b(?:select|from|{'|'.join(sorted({*_CERTAIN, *_AT_BOUNDARY}))})\b", re.IGNORECASE
)
_CERTAIN_PATTERNS = {key: re.compile(text, _I) for key, text in _CERTAIN.items()}
_BOUNDARY_PATTERNS = {key: re.compile(text, _I) for key, text in _AT_BOUNDARY.items()}
_AFTER_SELECT = re.compile(_FROM, _I)

_COMMENTS = re.compile(r"/\*[\s\S]*?(?:\*/|\Z)|(?:(?<=\s)|^)--[^\n]*+", re.MULTILINE)
_LONGEST_LIST = 20_000
_LINE_ESCAPES = re.compile(r"\\+[nrt]")


def reads_as_sql(text: str) -> bool:
    """Return True if a text contains a SQL statement, also after a comment or within a message."""
    if len(text) < 6 or _KEYWORDS.search(text) is None:
        return False
    text = _LINE_ESCAPES.sub("\n", text)
    return _has_statement(text) or _has_statement(_COMMENTS.sub("\n", text))


def reads_as_expression(text: str) -> bool:
    """Return True if a text that describes a calculation is SQL, such as `sum(x)` or `a = 'b'`."""
    return _EXPRESSION.search(text) is not None or reads_as_sql(text)


_EXPRESSION = re.compile(
    r"\w\(|[=<>|+*]|::|'[^'\n]{0,256}'|\bcase\s+when\b|\b(?:is\s+(?:not\s+)?null|not\s+in|like"
    r"|between)\b"
    r"|\w\s[-/%]\s\w|^\s*-?\d[\d.]*\s*$",
    _I,
)


def _has_statement(text: str) -> bool:
    """Return True if a statement begins at one of the keywords of a text without comments.

    SELECT and FROM need each other: the last `select` before a `from`, with columns in between.
    """
    select: re.Match[str] | None = None
    for keyword in _KEYWORDS.finditer(text):
        word = keyword[0].lower()
        if word == "select":
            select = keyword
            if _SELECTS_VALUE.match(text, keyword.end()) and _is_boundary(text, keyword.start()):
                return True
        elif word == "from":
            if select is not None and _selects(text, select, keyword):
                return True
            select = None
        elif _is_statement(text, word, keyword):
            return True
    return False


def _is_statement(text: str, word: str, keyword: re.Match[str]) -> bool:
    """Return True if what follows a keyword is that of a statement.

    `word` is the keyword in lower case. Some continuations are certain anywhere; the others count
    only at a place where a statement can begin.
    """
    certain = _CERTAIN_PATTERNS.get(word)
    if certain is not None and certain.match(text, keyword.end()):
        return True
    pattern = _BOUNDARY_PATTERNS.get(word)
    found = pattern is not None and pattern.match(text, keyword.end()) is not None
    return found and _is_boundary(text, keyword.start())


_BEFORE = re.compile(
    r"(?:^|[;(:\"'`=>\[,{}|)/*\n]|\b(?:explain|union|all|begin|analyze|query|sql))\s*\Z", _I
)


def _is_boundary(text: str, start: int) -> bool:
    """Return True if a statement can begin at a position.

    That is the beginning of the text or of a line, or a place after a bracket, quote, comma or
    colon.
    """
    before = text[max(0, start - 64) : start]
    return (
        not before.strip() or "\n" in before[len(before.rstrip()) :] or bool(_BEFORE.search(before))
    )


_QUOTED = re.compile(r"'[^']*+'|\"[^\"]*+\"|`[^`]*+`")
_BRACKETS = re.compile(r"\([^()]*+\)")
_TOP = r"top\s*\(?\d+\)?"
_QUANTIFIER = re.compile(rf"\b(?:(?:distinct|all)\b(?:\s*{_TOP})?|{_TOP})", _I)
"""The words before the first column; MySQL allows others before them, such as SQL_NO_CACHE."""
_MOST_LEVELS = 8
"""Maximum nesting of brackets that is replaced; deeper brackets count as operators."""
_ITEM = re.compile(r"[\w.$@#\[\]{}:*%-]++(?:\s+[\w$]++)?", _I)
_OPERATOR = re.compile(r"[=<>+*/|()?]|::|\s-\s|\b(?:as|case|over|is|null|in|like|between)\b|^$", _I)
_EVIDENCE = re.compile(r"[*=<>|'\"`{}\[\]]|\w\(|\w\.\w|::|\w_\w|\bas\b|\bdistinct\b|\btop\s+\d", _I)


def _selects(text: str, select: re.Match[str], source: re.Match[str]) -> bool:
    """Return True if the text between SELECT and FROM is a list of columns.

    `select` and `source` are the matches of the two keywords. Prose has both words, too: "select an
    item from the list". Columns need a sign of SQL: an operator, an underscore, or upper-case
    keywords.
    """
    columns = text[select.end() : source.start()]
    if len(columns) > _LONGEST_LIST or not _AFTER_SELECT.match(text, source.end()):
        return False
    if not columns.strip() or not all(_is_column(item) for item in _items(columns)):
        return False
    is_upper = select[0].isupper() and source[0].isupper()
    if _EVIDENCE.search(columns) or is_upper:
        return True
    has_clause = _AFTER_FROM.match(text, source.end()) is not None
    is_lower = select[0].islower() or "," in columns
    is_single = all(len(item.split()) < 2 for item in columns.split(","))
    return has_clause and is_lower and is_single and _is_boundary(text, select.start())


def _items(columns: str) -> Iterator[str]:
    """Yield the items of a column list; replace quoted text by `x` and brackets by `=`.

    `=` makes `_is_column` accept an item with brackets, such as a call of a function.
    """
    plain = _QUANTIFIER.sub("", _QUOTED.sub("x", columns), count=1)
    for _ in range(_MOST_LEVELS):
        plain, count = _BRACKETS.subn("=", plain)
        if not count:
            break
    return (item.strip() for item in plain.split(","))


def _is_column(item: str) -> bool:
    return _ITEM.fullmatch(item) is not None or _OPERATOR.search(item) is not None
