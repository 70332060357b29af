"""Find the secrets in Scala, Java and similar code by its tokens: names, strings and brackets.

A string is secret if a secret name precedes it: as the target of an assignment, as the key or the
argument before it, or as the setter that it is passed to. The time grows linearly with the text.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from .callees import BUILDERS, OTHERS, SETTERS, words_of
from .names import is_secret_name
from .spans import Span
from .values import is_no_secret, looks_like_name

# Lookaheads are in atomic groups instead of possessive ones, see `_TEXT` in fields.py.
_TOKEN = re.compile(
    r"""(?P<comment>/\*(?>(?:[^*]|\*(?!/)){0,4096})(?:\*/)?|(?<!:)//[^\n]*)"""
    r"""|(?:\b[a-zA-Z]{1,3})?(?P<string>\"{3}(?P<long>(?>(?:[^"\\]|\\.|"(?!"")){0,16384}))\"{3}"""
    r"""|"(?P<double>(?:[^"\\\n]|\\.){0,16384}+)"|(?<!\w)'(?P<single>(?:[^'\\\n]|\\.){0,16384}+)'"""
    r"""|`(?P<back>(?:[^`\\]|\\.){0,2048}+)`)"""
    r"""|(?P<name>\.?[A-Za-z_$][\w$]*+(?:\.[A-Za-z_$][\w$]*+)*+)(?:<[\w\s,.<>?]{0,64}+(?=\())?"""
    r"""|(?P<link>[=!]==?|->|=>|<-|:=|\+=|=(?!~)|:(?!:))|(?P<mark>[,;?\n(){}\[\]])"""
    r"""|(?P<other>\\.|::|\d[\w.]*+|[^\s])""",
    re.DOTALL,
)
_DEEPEST = 64
_BEFORE_VALUES = frozenset(
    ("new", "if", "else", "return", "await", "raise", "lazy", "throw", "yield", "then", "not")
)
_DECLARATIONS = frozenset(("val", "var", "let", "const", "final", "values"))
_WRAPPERS = frozenset(
    (
        *("of", "nullable", "value", "else", "default", "apply", "just", "decode", "decrypt"),
        *("encode", "concat", "wrap", "chars", "fixed", "constant", "sensitive", "obfuscated"),
    )
)
"""Words of functions whose arguments are secret if their result is."""
_CONSTRUCTOR = re.compile(r"(?:[\w$.]*\.)?[A-Z]\w*[a-z]\w*")
_COMPARISONS = ("==", "===", "!=", "!==")
_COLLECTIONS = (
    "Seq",
    "List",
    "Set",
    "Array",
    "Vector",
    "listOf",
    "List.of",
    "Set.of",
    "Arrays.asList",
)
_CONTINUED = re.compile(r"\s{0,256}(?:[.?:+|&)\]}]|//|/\*)")
_CONSTANT_END = re.compile(r"_(?:KEY|NAME|OPTION|PROP|PROPERTY|CONF|CONFIG)$")
_KEYS = frozenset(("SecretKeySpec", "PBEKeySpec"))
_SETTER_WORDS = frozenset(("set", "with", "use", "put", "change", "reset", "update"))


@dataclass(slots=True)
class _Frame:
    """The state within a pair of brackets."""

    opener: str = ""
    callee: str = ""
    """The function whose arguments these are."""
    path: str = ""
    """The last name with what precedes it, such as `conf.set`."""
    is_secret: bool = False
    """True if each argument is secret."""
    index: int = 0
    name: str = ""
    """The last name or text, if a value may follow it."""
    is_text: bool = False
    tokens: int = 0
    """Number of tokens in this argument or statement."""
    value: str = ""
    """The operator before the value of a secret name, while this value is read; else empty."""
    is_started: bool = False
    """True if a part of the value was read."""
    is_doubtful: bool = False
    """True if a value that looks like a name is not masked."""
    has_choice: bool = False
    last: str = ""
    """The kind of the last token: "name", "string", ")" or another text."""
    is_default: bool = False
    """True if the last name is a method of a secret's reader, as in `getenv("PASSWORD").orElse`."""
    is_cases: bool = False
    """True in the braces of a `match` or `switch` over a secret name."""
    is_match: bool = False
    """True from the head of such a `match` or `switch` to its brace."""
    secret_places: list[int] = field(default_factory=list)
    """Positions of secret names, as in `(user, password) = `."""
    places: list[int] = field(default_factory=list)
    """Positions of secret values, if a list of names precedes this frame."""


def secrets_in_braces(text: str) -> list[Span]:
    """Return the secret strings of Scala, Java and similar code, in any order."""
    scanner = _Scanner(text)
    for match in _TOKEN.finditer(text):
        scanner.read(match)
    return scanner.spans


class _Scanner:
    """A reader of the tokens of a text, which collects the positions of secrets."""

    def __init__(self, text: str) -> None:
        self.spans: list[Span] = []
        self._text = text
        self._frames = [_Frame()]
        self._list: list[int] = []  # positions of secret names in the last closed list

    def read(self, match: re.Match[str]) -> None:
        """Read a token and count it, unless it is a comment; its kind decides what reads it.

        A token without a kind of its own, such as a number, ends the name before it.
        """
        kind = match.lastgroup
        frame = self._frames[-1]
        if kind == "comment":
            return
        if kind == "mark":
            self._read_mark(frame, match[0], match.end())
            return
        if match["string"] is not None:
            kind = next(k for k in ("long", "double", "single", "back") if match[k] is not None)
            self._read_string(frame, match[kind], match.span(kind))
        elif kind == "name":
            self._read_name(frame, match["name"])
        elif kind == "link":
            self._read_link(frame, match[0])
        elif match[0] != ".":
            frame.last, frame.name = match[0], ""
            frame.is_started = True
        frame.tokens += 1

    def _read_string(self, frame: _Frame, text: str, span: Span) -> None:
        """Read a string: it is a secret if a secret name expects a value here.

        A string that is compared with another operand, or that only looks like a name, is no
        secret.
        """
        is_compared = frame.last in _COMPARISONS and frame.last != frame.value
        is_case = frame.is_cases and frame.last == "name" and frame.name == "case"
        if frame.value and frame.last == "name" and frame.name not in _BEFORE_VALUES:
            frame.value = ""  # token LIKE 'x'
        if (
            (frame.value or is_case)
            and not is_compared
            and not is_no_secret(text)
            and not (frame.is_doubtful and looks_like_name(text))
        ):
            self.spans.append(span)
        frame.name, frame.is_text, frame.last, frame.is_started = text, True, "string", True

    def _read_name(self, frame: _Frame, path: str) -> None:
        """Read a name, which may be the target, key or setter of a following value.

        A name right after a value or another name ends the value, as in `token = 'a' AND name =
        'b'`.
        """
        last = path.rpartition(".")[2]
        if path == "to" and frame.last == "string":
            self._read_link(frame, "->")  # Kotlin
            return
        if last == "match":
            frame.is_match = is_secret_name(frame.name)
        frame.is_default = frame.last == ")" and frame.is_text and is_secret_name(frame.name)
        is_adjacent = frame.last in ("string", ")") or (
            frame.last == "name" and frame.name not in _BEFORE_VALUES
        )
        if frame.value and is_adjacent and last != "else" and not path.startswith("."):
            frame.value = ""  # token = 'a' AND name = 'b'
        if last.lower() not in _DECLARATIONS:
            self._list = []
        frame.name, frame.is_text, frame.last, frame.is_started = last, False, "name", True
        frame.path = path

    def _read_link(self, frame: _Frame, link: str) -> None:
        """Read an operator between a name and its value, such as `=`, `:` or `->`.

        If the name is secret, its value follows. `:` may also be a type, or the `else` of a choice.
        """
        if link != "=":
            self._list = []
        is_secret = is_secret_name(frame.name) and (link != "=>" or frame.is_text)
        if link in _COMPARISONS and frame.value not in ("", *_COMPARISONS) and not is_secret:
            frame.name, frame.last = "", link  # password = x == "y" ? "z" : ""
            return
        if link in ("->", "=>") and frame.value == "=" and frame.tokens == 1 and not is_secret:
            frame.name, frame.last = "", link  # computeIfAbsent("password", key -> "x")
            return
        is_type = frame.value == ":" and link == "=" and frame.last != "string"
        is_branch = link == ":" and frame.has_choice
        if not is_type and not is_branch:
            frame.value = link if is_secret else ""
            frame.is_started = frame.is_doubtful = False
        elif is_type:
            frame.value = link
            frame.is_started = False
        frame.name, frame.last = "", link

    def _read_mark(self, frame: _Frame, mark: str, end: int) -> None:
        """Read a bracket, comma, semicolon, question mark or the end of a line."""
        if mark == "\n":
            if frame.opener in ("", "{") and not self._continues(frame, end):
                self._end_statement(frame)
            return
        if mark in "([{":
            self._open(frame, mark)
        elif mark in ")]}":
            self._close(frame)
        elif mark == ",":
            self._end_argument(frame)
        elif mark == ";":
            self._end_statement(frame)
        else:
            frame.has_choice, frame.last, frame.name = True, mark, ""
            if frame.value in _COMPARISONS:
                frame.value = ""  # password == x ? "yes" : "no"

    def _continues(self, frame: _Frame, end: int) -> bool:
        """Return True if the value of a secret name continues on the next line."""
        if not frame.value or frame.value == ":":
            return False
        return not frame.is_started or _CONTINUED.match(self._text, end) is not None

    def _end_statement(self, frame: _Frame) -> None:
        """End a statement: no value is expected any more."""
        frame.value = "=" if frame.is_secret else ""
        frame.name = frame.last = ""
        frame.tokens = 0
        frame.has_choice = frame.is_match = False
        self._list = []

    def _open(self, frame: _Frame, mark: str) -> None:
        """Open a pair of brackets: arguments, a block or a list.

        Its strings are secret if the result is the value of a secret name, or a setter takes them;
        in a list of values, those in the places of secret names.
        """
        callee = frame.path if frame.last == "name" and mark == "(" else ""
        new = _Frame(mark, callee)
        if mark == "{":
            new.is_cases = frame.is_match
        elif self._list and callee.lower() in ("", "values"):
            new.places, self._list = self._list, []
        elif frame.value and (not callee or _is_wrapper(callee)):
            new.is_secret = True
        else:
            is_default = frame.is_default and callee.endswith(("Else", "Default"))
            new.is_secret = is_default or _is_setter(callee)
        if callee in _KEYS:
            new.places = [0]
        if new.is_secret or 0 in new.places:
            new.value = "="
        new.is_doubtful = new.is_secret and frame.is_doubtful
        frame.is_match = False
        self._frames.append(new)
        del self._frames[:-_DEEPEST]

    def _end_argument(self, frame: _Frame) -> None:
        """End an argument at a comma: after a secret name, the next one may be its value.

        A name counts only if it is the whole argument. Of a constant such as DB_PASSWORD_KEY, the
        name is what precedes the suffix. The next argument is also read as a value if all are
        (`is_secret`), or if the list of names before has a secret one in its place (`places`).
        """
        name = frame.name if frame.is_text else _CONSTANT_END.sub("", frame.name)
        is_name = frame.tokens == 1 and is_secret_name(name)
        if is_name and not frame.is_text:
            frame.secret_places.append(frame.index)
        is_next = is_name and self._takes_pair(frame)
        frame.index += 1
        frame.value = "=" if is_next or frame.is_secret or frame.index in frame.places else ""
        frame.is_doubtful = is_next and not self._is_sure(frame)
        frame.name = frame.last = ""
        frame.tokens = 0
        frame.has_choice = frame.is_started = False

    def _takes_pair(self, frame: _Frame) -> bool:
        """Return True if the argument after a secret name is its value, as in `f("password", "x")`.

        A text with a dash (`"--password"`) is an option of a command, in any list. Lists and
        functions of columns or texts (OTHERS) have no values. Elsewhere, a text counts as a key if
        it is the first or second argument, and further on only in a map (`_is_sure`). A name that
        is no text counts only as the first argument of a setter: `set(PASSWORD, "x")`.
        """
        words = words_of(frame.callee)
        if frame.is_text and frame.name.startswith("-"):
            return True
        if frame.opener == "" or words & OTHERS or _is_collection(frame.callee):
            return False
        if not frame.is_text:
            return frame.index == 0 and bool(words & SETTERS) and frame.opener == "("
        return frame.index < 2 or self._is_sure(frame)

    def _is_sure(self, frame: _Frame) -> bool:
        words = words_of(frame.callee)
        return bool(words & SETTERS) or frame.callee.endswith(("Map.of", "Map.entry", "Map"))

    def _close(self, frame: _Frame) -> None:
        """Close a pair of brackets.

        A name in it may stand for the whole, as in `conf["password"] = "x"`. A list of names may be
        followed by their values, `(user, password) VALUES ("u", "x")`: their positions are kept in
        `_list`.
        """
        if len(self._frames) == 1:
            self._end_statement(frame)
            return
        self._frames.pop()
        outer = self._frames[-1]
        is_name = frame.tokens < 2 and is_secret_name(frame.name)
        if is_name and not frame.is_text:
            frame.secret_places.append(frame.index)
        self._list = frame.secret_places if frame.opener == "(" else []
        if is_name and frame.callee == "switch":
            outer.is_match = True
        is_key = is_name and frame.is_text and frame.opener in "(["
        outer.name, outer.is_text = (frame.name, True) if is_key else ("", False)
        outer.last, outer.is_started = ")", True


def _is_setter(callee: str) -> bool:
    """Return True for setPassword and .password, whose argument is secret."""
    last = callee.rpartition(".")[2]
    if not is_secret_name(last):
        return False
    return bool(words_of(last) & _SETTER_WORDS) or ("." in callee and last.lower() in BUILDERS)


def _is_collection(callee: str) -> bool:
    return callee in _COLLECTIONS


def _is_wrapper(callee: str) -> bool:
    """Return True for Some, String.valueOf and getOrElse, which may return their argument."""
    return _CONSTRUCTOR.fullmatch(callee) is not None or not _WRAPPERS.isdisjoint(
        words_of(callee.rpartition(".")[2])
    )
