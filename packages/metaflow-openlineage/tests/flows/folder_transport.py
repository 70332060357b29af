"""An OpenLineage transport for tests: each process appends to its own file."""

import os
from pathlib import Path

from openlineage.client.serde import Serde
from openlineage.client.transport import Config, Transport


class FolderConfig(Config):
    """The folder of the files."""

    def __init__(self, folder: str) -> None:
        self.folder = folder

    @classmethod
    def from_dict(cls, params: dict) -> "FolderConfig":
        return cls(params["folder"])


class FolderTransport(Transport):
    """A transport that writes each event as a line."""

    kind = "folder"
    config_class = FolderConfig

    def __init__(self, config: FolderConfig) -> None:
        self.path = Path(config.folder) / f"{os.getpid()}.jsonl"

    def emit(self, event: object) -> None:
        with self.path.open("a") as file:
            file.write(Serde.to_json(event) + "\n")
