"""Words that mark a value as secret, and the syntaxes in which such a value occurs."""

from __future__ import annotations

import string
from collections.abc import Iterator, Mapping
from functools import cache

from headwater.redaction._rules import MASK, Finder, Group, Rule, compiled
from headwater_client.masking.names import OWNERS_OF_KEYS, OWNERS_OF_PASS, OWNERS_OF_TOKENS
from headwater_client.masking.spans import join_parts
from headwater_client.masking.values import TYPES

_PASS_OF = "|".join(OWNERS_OF_PASS)
_KEY_OF = "|".join(OWNERS_OF_KEYS)
_TOKEN_OF = "|".join(OWNERS_OF_TOKENS)


def _after(words: str) -> str:
    """Return a pattern for a position after one of some words and an optional mark."""
    return "|".join(rf"(?<={word})|(?<={word}[._-])" for word in words.split("|"))


# Each word starts at its marker; the text before it is matched by lookbehind only.
_PASSWORD = rf"(?:pass(?:word|wd|phrase|code)|pwd|(?:\b|{_after(_PASS_OF)})pass)"
_STRONG = (
    rf"(?:{_PASSWORD}s?|secrets?(?:[._-]?(?:string|value|text|key[._-]?base))?"
    rf"|(?:{_KEY_OF})[._-]?keys?(?:[._-]?id)?|aws[._-]?key[._-]?id|shared[._-]?access[._-]?signature"
    rf"|(?:{_after(_TOKEN_OF)})tokens?"
    r"|_auth|fs\.azure\.[\w.-]{0,64}(?:account\.key|secret|sas|token(?!\.provider))\.[\w.-]{1,128})"
)
_WEAK = r"(?:token|credentials?|authorization|cookie)"
_WORD = rf"(?:{_STRONG}|{_WEAK})\d{{0,2}}"

_CANDIDATE = rf"{_WORD}(?=[\s\\\"'`\]:=<>!]|->)"
"""A word before a character with which the syntax of some rule continues."""
_SYNTAX = rf"{_WORD}(?=\s{{0,8}}[\\\"'`\]:=<>!-])"
"""A word before the syntax of a rule that does not depend on the text before the word."""

_END = r"(?![^\s,;:)\]}'\"<>&|\\])"
# Not secret: the mask, a type, a placeholder, a bound parameter, a call, another column.
_NO_SECRET = (
    rf"(?:\*{{3}}|[urbfn]{{1,2}}(?=\\{{0,8}}['\"])|(?:{TYPES})(?:\(\d{{1,5}}\))?{_END}|\$\{{[\w.]{{1,64}}\}}|\$\(|\{{\{{"
    rf"|\{{[a-z_][\w.!:]{{0,64}}\}}|%\(\w|%s{_END}|\?{_END}|:\w{{1,64}}{_END}|<[\w -]{{1,64}}>"
    rf"|[a-z_][\w.]{{0,64}}\([^()]{{0,128}}\)|[a-z_][\w.]{{0,64}}\[[^\[\]]{{1,64}}\]"
    rf"|[\w.]{{1,64}}\.\w{{0,64}}{_WORD}(?!\w))"
)
_BARE = (
    rf"(?!{_NO_SECRET})(?:\{{[^{{}}\s]{{1,256}}\}}|[^\s&;,'\"<>)\]}}(\[{{\\][^\s&;,'\"<>)\]}}]*)"
)
_QUOTE = r"(?P<q>\\{0,8}[\"'])"
_SCHEMES = "(?:bearer|basic|token|digest|apikey|negotiate)"
_KEY_QUOTE = r"(?P<k>\\{0,8}[\"'`])"
_QUOTED = (
    rf"(?!(?:{TYPES})?(?P=q)(?!(?P=q))|\*{{3}}|(?:{_SCHEMES}\s)?\{{[a-z_][\w.]{{0,64}}\}}(?P=q))"
    r"(?:(?:(?P=q)(?P=q)|(?!(?<!\\)(?P=q)).)*(?<!\\)(?P=q)|[^\n]*)"
)
_ASSIGN = r"\s{0,8}(?::=|=>|==|->|!=|<>|[=:])\s{0,20}"
_LOOKS_RANDOM = r"(?=\S{0,256}\d)(?=\S{0,256}[a-z])[^\s,;()'\".]{16,}"
_PROSE = r"(?:to|and|or|is|if|in|for|with|on|from|as|by|the|option|flag)\b"


_SQL = (
    r"\b(?:select|where|join|merge\s+into|insert\s+into|update\s+\S{1,128}\s+set|delete\s+from)\b"
)

_MARKS = ("", ".", "_", "-")
_WORD_MARKERS = (
    *("passw", "passphrase", "passcode", "pwd", "secret", "token", "credential", "authorization"),
    *("cookie", "fs.azure.", "_auth", "basicauth", "digestauth", "proxyauth"),
    *(f"pass{end}" for end in ('"', "'", "`", "\\", "=", ":", " ", "-", "<", "1", "2")),
    *(f"{owner}{mark}key" for owner in ("aws", *_KEY_OF.split("|")) for mark in _MARKS),
    *(f"shared{mark}access" for mark in _MARKS),
    *(f"{owner}{mark}pat" for owner in ("github", "gitlab", "devops") for mark in _MARKS),
    *(f"{word}{end}" for word in ("pw", "psw") for end in ('"', "'", "\\", "=", ":", " =")),
)


class _Words(Group):
    """A group of rules whose patterns start with a word such as `password`.

    Regular expressions search for many words slowly, so the rules are tried only at markers. For
    the patterns in `leads`, the text before the word must match, too.
    """

    def __init__(self, markers: tuple[str, ...], *rules: Rule, leads: Mapping[str, str]) -> None:
        super().__init__(markers, *rules)
        self._leads = leads
        self._candidate = _CANDIDATE if leads else _SYNTAX

    _finder = Finder([marker.encode() for marker in _WORD_MARKERS])

    def mask(self, text: str) -> str:
        """Mask all matches of the rules in a text."""
        return join_parts(self._masked_parts(text))

    def _masked_parts(self, text: str) -> Iterator[str]:
        """Yield the parts of a text with the secrets masked.

        At each marker, the first rule that matches applies. In a text with SQL, `token = x` may
        compare two columns, so that the value must look random.
        """
        end = 0
        is_sql = cache(lambda: compiled(_SQL).search(text) is not None)
        for start in self._finder.starts(text):
            if start < end or compiled(self._candidate).match(text, start) is None:
                continue
            for pattern, replacement in self.rules:
                if not self._follows(pattern, text, start):
                    continue
                match = compiled(pattern).match(text, start)
                if match is None:
                    continue
                is_comparison = pattern == _SPACED and is_sql()  # of two columns
                if is_comparison and not compiled(_LOOKS_RANDOM).match(match["value"]):
                    continue
                yield text[end:start]
                yield match.expand(str(replacement))
                end = match.end()
                break
        yield text[end:]

    def _follows(self, pattern: str, text: str, start: int) -> bool:
        """Return True if the text before a match is as its pattern requires."""
        lead = self._leads.get(pattern)
        if lead is None:
            return True
        mark, reach = _LEAD_MARKS[lead]
        if text.find(mark, max(0, start - _LONGEST_LEAD), start) < 0:
            return False
        before = text[max(0, start - _LONGEST_LEAD) : start]
        begin = start - len(before) + len(before.rstrip(_NAME_CHARACTERS))
        return compiled(lead).search(text, max(0, begin - reach), start) is not None


_SPACED = rf"({_WORD}[ \t]{{0,8}}=[ \t]{{1,8}}|{_WORD}[ \t]{{1,8}}=)(?P<value>{_BARE})"
_WORD_RULES = (
    # Authorization: Bearer x
    (
        r"(authorization\\{0,8}['\"]?\s{0,8}[:=]\s{0,8}\\{0,8}['\"]?"
        rf"{_SCHEMES}\s{{1,8}})(?!\{{[a-z_][\w.]{{0,64}}\}})[^\s'\",;\\]{{1,8192}}"
    ),
    r"(cookie:\s{0,8})[^'\"\r\n]{1,8192}",
    (r"(password\s{1,8})(?:'(?:[^']|'')*'|\"[^\"]*\")", rf"\1'{MASK}'"),
    (rf"({_STRONG}\s{{1,8}})'(?:[^']|'')+'", rf"\1'{MASK}'"),
    # 'password': ['x', 'y'] and "credentials": {"user": "x"}
    (
        rf"({_WORD}{_KEY_QUOTE}\s{{0,8}}:\s{{0,8}})(?:\[[^\]]{{1,8192}}\]?"
        r"|\{(?!\\{0,8}['\"]inputFields)[^{}]{1,8192}\}?)",
        rf"\1\g<k>{MASK}\g<k>",
    ),
    (
        rf"({_WORD}{_KEY_QUOTE}?\]?{_ASSIGN}[urbfn]{{0,2}}){_QUOTE}(?s:{_QUOTED})",
        rf"\1\g<q>{MASK}\g<q>",
    ),
    (rf"({_PASSWORD}\d{{0,2}}{_KEY_QUOTE}\s{{0,8}}:\s{{0,8}})-?\d[\d.]*", rf'\1"{MASK}"'),
    # password=x and Map(password -> x)
    rf"({_STRONG}\d{{0,2}}(?:=|\s?->\s?|\s?=>\s?)){_BARE}",
    rf"({_WEAK}\d{{0,2}}(?:=|\s?->\s?|\s?=>\s?))(?!\d{{1,6}}{_END}){_BARE}",
    # password = x
    _SPACED,
    # password: x
    (
        rf"({_STRONG}\d{{0,2}}[ \t]{{0,4}}:[ \t]{{1,8}})(?!{_NO_SECRET})(?![\"'|>&!{{\[*\\])"
        r"(?:(?=\S{0,256}[\d!$%^*+=~])[^\s,}]{1,8192}"
        r"|[^\s,;})]{1,8192}(?=[ \t]{0,64}(?:$|[,}#;)\n])))"
    ),
    r"(passphrase:[ \t]{1,8})(?![\"'|>*])[^\n]{1,8192}",
    rf"({_WEAK}:[ \t]{{1,8}})(?!{_NO_SECRET})(?=\S{{0,256}}\d)[\w.~+/=-]{{8,}}",
    # <name>db.password</name><value>x</value> and key="password" value="x"
    rf"({_WORD}</\w{{1,16}}>\s{{0,64}}<value>)[^<>]{{1,8192}}",
    rf"({_WORD}\\{{0,8}}\"\s{{1,8}}value=\\{{0,8}}\")[^\"\\]{{1,8192}}",
)
_LONGEST_LEAD = 160
_LED_RULES: tuple[tuple[str, Rule], ...] = (
    # '--password', 'x'
    (
        r"['\"]--?[\w.-]{0,64}\Z",
        (
            rf"({_WORD}['\"]\s{{0,8}},\s{{0,8}})(['\"])[^'\"]*['\"]",
            rf"\1\2{MASK}\2",
        ),
    ),
    # option("password", "x"), Variable.set('api_key', 'x') and Parameter("token", default="x")
    (
        r"\b(?:option|config|conf|set\w{0,24}|put|get|getenv|header|add\w{0,24}|param\w{0,16}|variable"
        r"|property|secret)\(\s{0,8}\\{0,8}['\"][\w.:/-]{0,120}\Z",
        (
            rf"({_WORD}\\{{0,8}}['\"]\s{{0,8}},\s{{0,8}}(?:\w{{1,32}}\s{{0,4}}=\s{{0,4}})?[urbf]{{0,2}})"
            rf"{_QUOTE}(?s:{_QUOTED})",
            rf"\1\g<q>{MASK}\g<q>",
        ),
    ),
    # --password x
    (
        r"(?:^|(?<=\s))--?[\w.-]{0,64}\Z",
        (
            rf"({_WORD}\s{{1,8}})(?!-|{_PROSE}|{_NO_SECRET})"
            r"(?:'[^']*'|\"[^\"]*\"|[^\s'\",;)\]]{1,8192})"
        ),
    ),
    (r"\blogin\s{1,8}\S{1,128}\s{1,8}\Z", r"(password\s{1,8})\S{1,512}"),
    # <password>x</password>
    (r"<[\w.:-]{0,64}\Z", rf"({_WORD}(?:\s[^<>]{{0,200}})?>)[^<>]{{1,8192}}"),
)
"""What must precede a word, in at most `_LONGEST_LEAD` characters, and the rule for the word."""
_LEAD_MARKS = {
    lead: mark
    for (lead, _), mark in zip(
        _LED_RULES, (("-", 1), ("(", 64), ("-", 1), (" ", _LONGEST_LEAD), ("<", 1)), strict=True
    )
}
"""Per text before a word: a character that it contains, and its longest reach before the name."""
_NAME_CHARACTERS = f"{string.ascii_letters}{string.digits}_.:/-"
_IDENTIFIED_RULES = (
    r"(\buser\s{1,8}\S{1,128}\s{1,8}identified\s{1,8}by\s{1,8})(?!values\b)[^\s;'\"]{1,512}",
    (
        r"(\bidentified(?:\s{1,8}with\s{1,8}\S{1,64})?\s{1,8}(?:by|as)(?:\s{1,8}values)?\s{1,8})"
        r"(?:'(?:[^']|'')*'|\"[^\"]*\")",
        rf"\1'{MASK}'",
    ),
)

WORDS = (
    Group("identified", *_IDENTIFIED_RULES),
    _Words(
        _WORD_MARKERS,
        *(rule for _, rule in _LED_RULES),
        leads={rule if isinstance(rule, str) else rule[0]: lead for lead, rule in _LED_RULES},
    ),
    _Words(_WORD_MARKERS, *_WORD_RULES, leads={}),
)
"""Groups of values that a word marks as secret."""
