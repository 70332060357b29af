"""Whether answers are as the OpenAPI document tells."""

from __future__ import annotations

import re
from typing import Any
from urllib.parse import urlsplit

import jsonschema_rs


class Told:
    """The document's schemas of what GET answers, by path."""

    def __init__(self, document: dict[str, Any]) -> None:
        self._schemas = []
        for path, item in sorted(document["paths"].items(), key=lambda each: each[0].count("{")):
            content = item.get("get", {}).get("responses", {}).get("200", {}).get("content", {})
            if schema := content.get("application/json", {}).get("schema"):
                whole = {**schema, "components": document["components"]}
                pattern = re.compile(re.sub(r"{\w+}", "[^/]+", path))
                self._schemas.append((pattern, jsonschema_rs.validator_for(whole)))
        self.untrue: list[str] = []

    def check(self, path: str, answer: Any) -> None:
        """Note what an answer has that the document does not tell."""
        if answer.status_code != 200:
            return
        for pattern, schema in self._schemas:
            if pattern.fullmatch(urlsplit(path).path):
                for error in schema.iter_errors(answer.json()):
                    self.untrue.append(f"{path} {list(error.instance_path)}: {error.message[:200]}")
                return
        self.untrue.append(f"{path}: not in the document")


class Checked:
    """A client whose every answer is checked."""

    def __init__(self, client: Any, told: Told) -> None:
        self._client = client
        self._told = told

    def get(self, path: str) -> Any:
        """The answer to a GET."""
        answer = self._client.get(path)
        self._told.check(path, answer)
        return answer
