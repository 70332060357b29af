"""Keep the signed provenance of a model with the run that trained it and with its forecasts."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path
from typing import Any

from lakehouse.backends import is_embedded
from lakehouse.lineage_server import lineage_server, wait_for_spool
from lakehouse.names import DatasetName
from lakehouse.settings import Settings

PRIVATE_KEY, PUBLIC_KEY = "provenance-key.pem", "provenance-public.pem"
"""Files of the state folder; the first signed provenance creates them."""


def signed_provenance(
    settings: Settings, dataset: DatasetName, version: str
) -> dict[str, Any] | None:
    """Return the provenance of a version of a dataset as a signed in-toto statement.

    A failure never fails the run: it prints a warning and returns None.
    """
    if not is_embedded(settings):
        print(f"Provenance: not kept; the backend {settings.lineage_backend} has none.")  # noqa: T201
        return None
    try:
        return _signed(settings, dataset, version)
    except Exception as error:
        print(f"warning: the provenance is not kept with the model: {error!r}")  # noqa: T201
        return None


def _signed(settings: Settings, dataset: DatasetName, version: str) -> dict[str, Any]:
    from headwater.plugins.provenance.envelope import signed

    node = f"dataset:{dataset.namespace}:{dataset.name}"
    with lineage_server(settings, timeout=30) as server:
        wait_for_spool(server)
        params = {"node": node, "version": version}
        answer = server.get("/api/v2/provenance/statement", params=params)
    return signed(answer.raise_for_status().json(), _key(settings.state_dir))


def _key(folder: Path) -> Path:
    """Return the private key of this folder; create it and the public one if there is none."""
    from cryptography.hazmat.primitives import serialization as pem
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

    private = folder / PRIVATE_KEY
    if not private.exists():
        form = pem.Encoding.PEM, pem.PrivateFormat.PKCS8, pem.NoEncryption()
        secret = Ed25519PrivateKey.generate().private_bytes(*form)
        with suppress(FileExistsError):  # another run created it
            _create(private, secret)
    key = pem.load_pem_private_key(private.read_bytes(), None)
    public = key.public_key().public_bytes(pem.Encoding.PEM, pem.PublicFormat.SubjectPublicKeyInfo)
    (folder / PUBLIC_KEY).write_bytes(public)
    return private


def _create(path: Path, content: bytes) -> None:
    """Create a file that only its owner can read, as a whole. Raises FileExistsError."""
    fresh = path.with_suffix(f".{os.getpid()}")
    with os.fdopen(os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as opened:
        opened.write(content)
    try:
        os.link(fresh, path)
    finally:
        fresh.unlink()
