"""Check responses against the OpenAPI document."""

from __future__ import annotations

import re
from typing import Any
from urllib.parse import urlsplit

import jsonschema_rs


class ResponseSchemas:
    """The document's schemas of GET responses, by path."""

    def __init__(self, document: dict[str, Any]) -> None:
        self._schemas = []
        for path, item in sorted(document["paths"].items(), key=lambda item: item[0].count("{")):
            content = item.get("get", {}).get("responses", {}).get("200", {}).get("content", {})
            if schema := content.get("application/json", {}).get("schema"):
                whole = {**schema, "components": document["components"]}
                pattern = re.compile(re.sub(r"{\w+}", "[^/]+", path))
                self._schemas.append((pattern, jsonschema_rs.validator_for(whole)))
        self.mismatches: list[str] = []

    def check(self, path: str, response: Any) -> None:
        """Record the differences between a response and its schema."""
        if response.status_code != 200:
            return
        for pattern, schema in self._schemas:
            if pattern.fullmatch(urlsplit(path).path):
                for error in schema.iter_errors(response.json()):
                    self.mismatches.append(
                        f"{path} {list(error.instance_path)}: {error.message[:200]}"
                    )
                return
        self.mismatches.append(f"{path}: not in the document")


class CheckedClient:
    """A client that checks every response."""

    def __init__(self, client: Any, schemas: ResponseSchemas) -> None:
        self._client = client
        self._schemas = schemas

    def get(self, path: str) -> Any:
        """Return the checked response to a GET request."""
        response = self._client.get(path)
        self._schemas.check(path, response)
        return response
