"""Load YAML files that a person writes, without aliases and without deep nesting."""

from __future__ import annotations

from typing import Any

import yaml

_DEEPEST = 20


class _Loader(yaml.BaseLoader):
    """Loads all values as text."""

    depth = 0

    def compose_node(self, parent: yaml.Node | None, index: Any) -> yaml.Node | None:
        """Compose a node. Raises ComposerError for an alias, or at more than 20 levels."""
        mark = self.peek_event().start_mark  # type: ignore[no-untyped-call]
        if self.check_event(yaml.AliasEvent):
            raise yaml.composer.ComposerError(None, None, "aliases are not allowed", mark)
        self.depth += 1
        if self.depth > _DEEPEST:
            problem = f"more than {_DEEPEST} levels of lists and mappings"
            raise yaml.composer.ComposerError(None, None, problem, mark)
        node = super().compose_node(parent, index)
        self.depth -= 1
        return node


def load_texts(text: str) -> Any:
    """Return the content with all values as text. Raises yaml.YAMLError.

    Aliases are rejected, because a few lines of them can stand for gigabytes.
    """
    return yaml.load(text, _Loader)
