"""Find the secrets in shell code by its words: assignments, options, substitutions and inputs.

A word is secret if it is assigned to a secret name, or follows one as an option, a comparison or
the argument of a command that sets variables. The time grows linearly with the text.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import pairwise

from .names import is_secret_name
from .spans import Span
from .values import is_no_secret, looks_like_name

_TOKEN = re.compile(
    r"""(?P<space>(?:[ \t\r]|\\\n)+)|(?P<comment>(?<![^\s;])\#[^\n]*)"""
    r"""|(?P<quoted>\$?"(?:[^"\\]|\\.){0,8192}+\""""
    r"""|\$?(?:(?<![a-zA-Z])'|'(?!(?:[tsdm]|re|ve|ll)\b))[^']{0,8192}+')"""
    r"""|(?P<here><<-?[ \t]{0,8}(?P<quote>['"]?)(?P<tag>[A-Za-z_]\w{0,63})(?P=quote))"""
    r"""|(?P<string><<<)|(?P<variable>\$(?:\{[^{}\n]{0,256}+\}|\w+))|(?P<open>\$\(|\()|(?P<close>\))"""
    r"""|(?P<tick>`)|(?P<end>\|\||&&|[\n;|&])|(?P<text>\\.|[<>]|[^\s'"`$;|&()<>\\\#]+|.)""",
    re.DOTALL,
)
_DEEPEST = 64
_MOST_WORDS = 1_024
_LONGEST_INPUT = 16_384
_MOST_TAGS = 64
_ASSIGNED = re.compile(
    r"(?:(?:-{0,2}[\w.-]{1,128}+=)?(?P<name>[\w.-]{1,128}+)(?:\[[^\]=]{0,128}\])?\+?="
    r"|\[['\"]?(?P<key>[\w.-]{1,128}+)['\"]?\]\+?=|/(?P<flag>\w{1,128}+):)"
)
_OPTION = re.compile(r"--?(?P<name>[A-Za-z][\w.-]{0,127})")
_COMPARISONS = ("=", "==", "!=")
_SETTERS = frozenset(("set", "setx", "setenv"))
_PRINTERS = frozenset(("echo", "printf", "print"))
_PROSE = frozenset(
    (
        "to",
        "and",
        "or",
        "is",
        "if",
        "in",
        "for",
        "with",
        "on",
        "from",
        "as",
        "by",
        "the",
        "option",
        "flag",
    )
)


@dataclass(slots=True)
class _Word:
    """A word of a command, with its place in the text."""

    begin: int
    end: int
    text: str = ""
    """The word without quotes."""
    is_computed: bool = False
    """True if it contains a command substitution."""


@dataclass(slots=True)
class _Command:
    """The words of a command, an array or a substitution."""

    is_secret: bool = False
    """True if its output or its items are secret."""
    is_array: bool = False
    words: list[_Word] = field(default_factory=list)
    word: _Word | None = None
    before: list[_Word] = field(default_factory=list)
    """The words of the command whose output this one reads."""
    tag: str = ""
    """The last line of the here-document that this command reads; a backtick within backticks."""


def secrets_in_shell(text: str) -> list[Span]:
    """Return the secret words of shell code, in any order."""
    scanner = _Scanner(text)
    for match in _TOKEN.finditer(text):
        scanner.read(match)
    scanner.end()
    return scanner.spans


class _Scanner:
    """A reader of the tokens of a text, which collects the positions of secrets."""

    def __init__(self, text: str) -> None:
        self.spans: list[Span] = []
        self._text = text
        self._commands = [_Command()]

    def read(self, match: re.Match[str]) -> None:
        """Read a token."""
        kind, command = match.lastgroup, self._commands[-1]
        if kind in ("space", "comment"):
            self._end_word(command)
        elif kind == "open":
            self._open(command, match)
        elif kind == "close" or (kind == "tick" and self._is_in_tick()):
            self._close(command, match.end())
        elif kind == "tick":
            self._open(command, match)
        elif kind == "end":
            self._end_command(command, match[0], match.end())
        elif kind == "here":
            self._end_word(command)
            command.tag = match["tag"]
        elif kind == "string":
            self._end_word(command)
            command.words.append(_Word(match.start(), match.end(), "<<<"))
        else:
            self._extend(command, match)

    def end(self) -> None:
        """Read the end of the text."""
        for command in self._commands:
            self._end_command(command, "\n", len(self._text))

    def _extend(self, command: _Command, match: re.Match[str]) -> None:
        """Add a token to the current word, without quotes and backslashes."""
        if command.word is None:
            command.word = _Word(match.start(), match.end())
        text, word = match[0], command.word
        if match["quoted"] is not None:
            text = text.removeprefix("$")[1:-1]
        elif text.startswith("\\"):
            text = text[1:]
        if len(word.text) < _LONGEST_INPUT:
            word.text += text
        word.end = match.end()

    def _is_in_tick(self) -> bool:
        return len(self._commands) > 1 and self._commands[-1].tag == "`"

    def _open(self, command: _Command, match: re.Match[str]) -> None:
        """Open a substitution `$(…)`, backticks or an array `(…)`.

        Its output or items are secret if it is assigned to a secret name.
        """
        word = command.word
        is_array = match[0] == "("
        if word is not None and (not is_array or word.text.endswith("=")):
            assigned = _ASSIGNED.match(word.text)
            is_secret = assigned is not None and is_secret_name(_name_of(assigned))
            word.is_computed = True
            word.end = match.end()
        else:
            is_secret = is_array = False
        new = _Command(is_secret or command.is_secret and not is_array, is_array)
        new.tag = "`" if match[0] == "`" else ""
        self._commands.append(new)
        del self._commands[:-_DEEPEST]

    def _close(self, command: _Command, end: int) -> None:
        """Close a substitution or an array; the word that contains it ends here so far."""
        self._end_command(command, ")", end)
        if len(self._commands) > 1:
            self._commands.pop()
        if (word := self._commands[-1].word) is not None:
            word.end = end

    def _end_word(self, command: _Command) -> None:
        if command.word is not None and len(command.words) < _MOST_WORDS:
            command.words.append(command.word)
        command.word = None

    def _end_command(self, command: _Command, mark: str, end: int) -> None:
        """Read a command that ends at a mark, such as `;` or `|`, and collect its secrets.

        Besides its words, these are what a printing command before a pipe, a here-string or a
        here-document passes to a command that reads a secret.
        """
        self._end_word(command)
        words = command.words
        if command.is_array and mark != ")":
            return
        if command.is_secret and (command.is_array or _is_printer(words)):
            self._add(words if command.is_array else words[1:])
        for word in (*_secrets(words), *filter(None, map(self._assigned, words))):
            if span := self._span(word):
                self.spans.append(span)
        reads_secret = command.is_secret or _reads_secret(words)
        if reads_secret and command.before and _is_printer(command.before):
            self._add(command.before[1:])
        if reads_secret and "<<<" in (texts := [word.text for word in words]):
            self._add(words[texts.index("<<<") + 1 :])
        if command.tag not in ("", "`") and mark == "\n":
            if reads_secret:
                self._add_input(command.tag, end)
            command.tag = ""
        command.before = words if mark == "|" else []
        command.words = []

    def _add(self, words: list[_Word]) -> None:
        for word in words:
            if not word.text.startswith(("-", "%", "$", ">")) and (span := self._span(word)):
                self.spans.append(span)

    def _span(self, word: _Word) -> Span | None:
        """Return the position of a secret word without its quotes; None if it cannot be secret."""
        if word.is_computed or is_no_secret(word.text) or word.text.startswith(("$", "<", "(")):
            return None
        quote = self._text[word.begin]
        if quote in "'\"" and self._text.find(quote, word.begin + 1, word.end) == word.end - 1:
            return word.begin + 1, word.end - 1
        return word.begin, word.end

    def _assigned(self, word: _Word) -> _Word | None:
        """Return the value of an assignment whose name is secret, if it has quotes or escapes.

        Other rules mask plain values.
        """
        assigned = _ASSIGNED.match(word.text)
        if assigned is None or not is_secret_name(_name_of(assigned)):
            return None
        begin = word.begin + (self._text[word.begin] in "'\"")
        if not self._text.startswith(assigned[0], begin):
            return None
        begin += len(assigned[0])
        is_plain = word.text.endswith(self._text[begin : word.end])
        if is_plain and assigned[0].endswith(f"{assigned['name']}="):
            return None
        return _Word(begin, word.end, word.text[assigned.end() :], word.is_computed)

    def _add_input(self, tag: str, start: int) -> None:
        """Add the here-document that starts at a position, if it ends soon."""
        limit = start + _LONGEST_INPUT
        end = start - 1
        for _ in range(_MOST_TAGS):
            end = self._text.find(tag, end + 1, limit)
            if end < 0:
                return
            line = self._text.rfind("\n", 0, end) + 1
            if not self._text[line:end].strip("\t") and self._text[end + len(tag) :][:1] in "\n)":
                if line - 1 > start:
                    self.spans.append((start, line - 1))
                return


def _is_printer(words: list[_Word]) -> bool:
    return bool(words) and words[0].text in _PRINTERS


def _reads_secret(words: list[_Word]) -> bool:
    """Return True if a command reads a secret from its input.

    Examples are `docker login --password-stdin`, `chpasswd`, `read PASSWORD`, `sudo -S` and `passwd
    --stdin`.
    """
    texts = [word.text for word in words]
    if any(text in ("--password-stdin", "--with-token", "chpasswd") for text in texts):
        return True
    if "read" in texts[:1]:
        return any(is_secret_name(text) for text in texts[1:])
    return ("sudo" in texts and "-S" in texts) or ("passwd" in texts and "--stdin" in texts)


def _secrets(words: list[_Word]) -> Iterator[_Word]:
    """Yield the words that another word marks as secret.

    These are `x` in `--password x`, `[ $PASSWORD = x ]`, `set password x` and `case $PASSWORD in
    x`, and the value after `-v PASSWORD`.
    """
    first = words[0].text if words else ""
    for index, (word, following) in enumerate(pairwise(words)):
        name, value = word.text, following.text
        if option := _OPTION.fullmatch(name):
            if (
                is_secret_name(option["name"])
                and value not in _PROSE
                and value[:1] not in ("-", "=")
            ):
                yield following
        elif name.startswith("$") and value in _COMPARISONS:
            if is_secret_name(name.strip("${}")):
                yield from words[index + 2 : index + 3]
        elif index and (words[index - 1].text == "set" or first in _SETTERS):
            yield from [following] if is_secret_name(name) and _is_value(value) else ()
    if len(words) > 3 and first == "case" and is_secret_name(words[1].text.strip("${}")):
        yield from words[3:]
    if len(words) > 4 and words[1].text == "-v" and is_secret_name(words[2].text):
        yield from words[4:]


def _name_of(assigned: re.Match[str]) -> str:
    return assigned["name"] or assigned["key"] or assigned["flag"]


def _is_value(text: str) -> bool:
    return len(text) > 2 and not (looks_like_name(text) or text.isdigit() or text[0] in "-$=")
