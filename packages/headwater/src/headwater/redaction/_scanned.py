"""Rules that read the commands and the calls of a text word by word."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from headwater.redaction._rules import MASK, Finder, Group, compiled
from headwater_client.masking.calls import FUNCTIONS, secrets_of_call
from headwater_client.masking.commands import PROGRAMS, secrets_of_command
from headwater_client.masking.spans import Span, replace_spans

Reader = Callable[[str, int], tuple[list[Span], int]]
"""Function that returns the secrets of the command or call at a position, and its end."""


class _Scanned(Group):
    """A group that reads the text after each of its names; it reads each character only once.

    The name must be followed by the pattern `end`, and in a marker by one of the texts `ends`.
    """

    def __init__(
        self,
        names: Iterable[str],
        end: str,
        read: Reader,
        *,
        ends: tuple[str, ...] = ("",),
        check: bytes | None = None,
    ) -> None:
        super().__init__(tuple(sorted(name + text for name in names for text in ends)), check=check)
        self._read = read
        self._name = rf"(?<![\w.-])(?:{'|'.join(sorted(names, key=len, reverse=True))}){end}"
        self._finder = Finder([name.encode() for name in self.markers])

    def mask(self, text: str) -> str:
        """Mask all secrets in the commands or calls of a text."""
        return replace_spans(text, self._secrets(text), MASK)

    def _secrets(self, text: str) -> Iterator[Span]:
        """Yield the secrets of all commands or calls; skip a name within one that was read."""
        done = 0
        for start in self._finder.starts(text):
            if start >= done and compiled(self._name).match(text, start) is not None:
                spans, done = self._read(text, start)
                yield from sorted(spans)


COMMANDS = _Scanned(
    PROGRAMS,
    r"(?:\.exe)?(?=[\s'\",\\])",
    secrets_of_command,
    check=rb"(?:[\s'\"]|\\[nrt])-{0,2}\w|/",
)
CALLS = _Scanned(FUNCTIONS, r"\s{0,2}\(", secrets_of_call, ends=("(", " (", "  ("))
