"""Find the secrets in command lines by their words: `mysql -px`, `curl -u app:x`.

A *flag* is an option such as `-p`; a *glued* one has its value in the same word.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from .spans import Span


@dataclass(frozen=True, slots=True)
class _Program:
    """The arguments of a program that contain secrets.

    A secret follows one of `flags`, or the flag `glued` in the same word. One of `pairs` precedes a
    user, the `separator` and a secret. With `connection`, a word is `user/secret@database`. With
    `last`, the last word is secret. If `words` is not empty, one of these subcommands is required.
    """

    flags: frozenset[str] = field(default=frozenset())
    glued: str = ""
    pairs: frozenset[str] = field(default=frozenset())
    separator: str = ":"
    connection: bool = False
    words: frozenset[str] = field(default=frozenset())
    last: bool = False


def _program(
    flags: str = "", glued: str = "", pairs: str = "", separator: str = ":", words: str = "",
    *, connection: bool = False, last: bool = False,
) -> _Program:  # fmt: skip
    """Return a program; words in a text are separated by spaces."""
    found = (frozenset(text.split()) for text in (flags, pairs, words))
    flag_words, pair_words, sub_words = found
    return _Program(flag_words, glued, pair_words, separator, connection, sub_words, last)


_MYSQL = _program(glued="-p")
_SQLCMD = _program(flags="-P", glued="-P")
_LOGIN = _program(flags="-p", glued="-p", words="login")
_ORACLE = _program(connection=True)
_PROGRAMS: dict[str, _Program] = {
    **dict.fromkeys(
        ("mysql", "mysqldump", "mysqladmin", "mysqlimport", "mysqlsh", "mysqlcheck"), _MYSQL
    ),
    **dict.fromkeys(("mysqlshow", "mysqlbinlog", "mariadb", "mariadb-dump", "mycli"), _MYSQL),
    **dict.fromkeys(("bcp", "sqlcmd", "osql", "isql", "tsql", "mssql-cli"), _SQLCMD),
    **dict.fromkeys(("docker", "podman", "helm", "crane", "oras", "skopeo", "az"), _LOGIN),
    **dict.fromkeys(("sqlplus", "sqlldr", "impdp", "expdp", "imp", "exp", "rman"), _ORACLE),
    "curl": _program(pairs="-u --user -U --proxy-user", glued="-u"),
    "http": _program(pairs="-a --auth", glued="-a"),
    "https": _program(pairs="-a --auth", glued="-a"),
    "redis-cli": _program(flags="-a --pass"),
    "sshpass": _program(flags="-p", glued="-p"),
    "mongo": _program(flags="-p", glued="-p"),
    "mongosh": _program(flags="-p", glued="-p"),
    "mongodump": _program(flags="-p", glued="-p"),
    "mongoexport": _program(flags="-p", glued="-p"),
    "mongoimport": _program(flags="-p", glued="-p"),
    "mongorestore": _program(flags="-p", glued="-p"),
    "beeline": _program(flags="-p"),
    "vsql": _program(flags="-w"),
    "cqlsh": _program(flags="-p", glued="-p"),
    "influx": _program(flags="-password -t"),
    "ldapsearch": _program(flags="-w", glued="-w"),
    "smbclient": _program(pairs="-U", glued="-U", separator="%"),
    "htpasswd": _program(last=True),
    "rabbitmqctl": _program(words="add_user change_password", last=True),
    "zip": _program(flags="-P"),
    "unzip": _program(flags="-P"),
    "7z": _program(glued="-p"),
    "openssl": _program(flags="-k -K", glued="pass:"),
    "kubectl": _program(pairs="--from-literal", separator="=", words="secret"),
    "ssh-keygen": _program(flags="-N -P"),
    "gh": _program(flags="--body -b", words="secret"),
    "hdbsql": _program(flags="-p"),
    "ipmitool": _program(flags="-P"),
    "psexec": _program(flags="-p"),
    **dict.fromkeys(("mosquitto_pub", "mosquitto_sub"), _program(flags="-P")),
    **dict.fromkeys(("useradd", "usermod"), _program(flags="-p")),
    **dict.fromkeys(("snmpget", "snmpset", "snmpwalk"), _program(flags="-A -X")),
    "keytool": _program(flags="-storepass -keypass -srcstorepass -deststorepass"),
}
PROGRAMS = frozenset(_PROGRAMS) - {
    "http",
    "https",
    "exp",
    "imp",
    "az",
    "zip",
    "unzip",
    "mongo",
    "aws",
    "7z",
}
"""Lower-case names at which a command is recognized."""

_LONGEST = 4_096
_WORD = re.compile(
    r"""\\?\n|(?P<end>[\n;|&])|\\{0,8}"(?P<double>[^"\n\\]{1,512})\\{0,8}"|\\{0,8}'(?P<single>[^'\n\\]{1,512})\\{0,8}'"""
    r"""|(?P<bare>[^\s'",;|&\[\]()`]{1,1024}+)|."""
)
_QUOTED_NAME = re.compile(r"[\w.-]{1,64}\\{0,8}['\"]")
_CONNECTION = re.compile(r"(?!-|/)(?:userid=)?[\w.$#]{1,128}/(?P<secret>[^\s@]{1,256})(?:@|$)")
_NO_SECRET = re.compile(r"\*{3}|[$<{%]\S*|-\S*")


def secrets_of_command(text: str, start: int) -> tuple[list[Span], int]:
    """Return the secrets of the command whose program starts at a position, and its end."""
    spans: list[Span] = []
    reader = _Reader()
    limit = start + _LONGEST
    end = start
    if _QUOTED_NAME.match(text, start) and text[max(0, start - 1)] in "'\"":
        start -= 1  # a list of quoted words
    for match in _WORD.finditer(text, start, limit):
        end = match.end()
        kind = match.lastgroup
        if kind == "end":
            if text[max(0, match.start() - 1)] != "\\":
                break
        elif kind is not None:
            begin, stop = match.span(kind)
            spans += reader.read(match[kind], begin, stop, is_quoted=kind != "bare")
    spans += reader.rest()
    return [
        (begin, stop) for begin, stop in spans if not _NO_SECRET.fullmatch(text, begin, stop)
    ], end


class _Reader:
    """Reads the words of a command one after the other."""

    def __init__(self) -> None:
        """Begin before the first program.

        `_flag` is the flag that the next word may follow, `_end` the position after the last word
        `_before`, and `_words` the words of the command that are no flags, with their positions.
        """
        self._program: _Program | None = None
        self._flag = ""
        self._end = -1
        self._before = ""
        self._words: list[tuple[str, int, int]] = []

    def read(self, word: str, begin: int, stop: int, *, is_quoted: bool) -> Iterator[Span]:
        """Yield the secret of a word.

        `begin` and `stop` are its place in the text, without quotes. A name of a program begins
        another command, unless it follows a flag. A quoted word may continue the one before it, as
        in `-p'x'`.
        """
        name = word.rpartition("/")[2].removesuffix(".exe").lower()
        flag, self._flag = self._flag, ""
        is_glued = is_quoted and self._end == begin - 1  # -p'x' and u/"x"@db
        is_connection = is_glued and self._before.rstrip("\\").endswith("/")
        self._end, self._before = stop, word
        program = self._program
        if name in _PROGRAMS and not flag and not (program and program.connection):
            self._program, self._words = _PROGRAMS[name], []
            return
        if program is None:
            return
        if program.connection and is_connection:
            yield begin, stop
        if not word.startswith("-") and not flag:
            self._words.append((word, begin, stop))
        if program.words and not program.last and not self._has_word(program):
            return
        if word.startswith("--") and not flag:
            flag, found, value = word.partition("=")
            if found and flag in program.flags | program.pairs:  # --user=app:x
                yield from self._secret(program, value, flag, stop - len(value))
                return
            flag = ""
        if is_glued and flag == program.glued:
            word, begin = flag + word, begin - len(flag)
            flag = ""
        yield from self._secret(program, word, flag, begin)
        self._flag = word if word.startswith("-") else ""

    def _has_word(self, program: _Program) -> bool:
        return any(word in program.words for word, _, _ in self._words)

    def _secret(self, program: _Program, word: str, flag: str, begin: int) -> Iterator[Span]:
        """Yield the secret in a word, which `flag` precedes; empty for no flag.

        `begin` is the place of the word in the text.
        """
        stop = begin + len(word)
        if flag in program.flags:
            yield begin, stop
        elif flag in program.pairs:
            yield from _after(program.separator, word, begin)
        elif program.glued and word.startswith(program.glued) and len(word) > len(program.glued):
            rest = begin + len(program.glued)
            if program.pairs:
                yield from _after(program.separator, word[len(program.glued) :], rest)
            # The rest of -protocol or -port= is no password that follows -p.
            elif not word[len(program.glued) :].startswith(("-", "rotocol", "ort=")):
                yield rest, stop
        elif program.connection and (match := _CONNECTION.match(word)) is not None:
            yield begin + match.start("secret"), begin + match.end("secret")

    def rest(self) -> Iterator[Span]:
        """Yield the secret that is known only at the end of the command."""
        program = self._program
        if program is None or not self._words:
            return
        if (
            program.last
            and len(self._words) >= 2
            and (not program.words or self._has_word(program))
        ):
            yield self._words[-1][1:]


def _after(separator: str, word: str, begin: int) -> Iterator[Span]:
    """Yield the part of a word after a separator, such as the password in `user:password`."""
    head, found, tail = word.partition(separator)
    if found and tail:
        yield begin + len(head) + 1, begin + len(word)
