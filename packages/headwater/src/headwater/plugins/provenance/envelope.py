"""Signed statements: envelopes of DSSE (https://github.com/secure-systems-lab/dsse)."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from headwater.errors import ConfigError, HeadwaterError, how_to_install

if TYPE_CHECKING:
    from securesystemslib.signer import CryptoSigner, SSlibKey  # type: ignore[attr-defined]

    from headwater.plugins.provenance.models import Statement

PROJECT = "https://github.com/headwater-lineage/two-orchestrators-one-lineage"
BUILD_TYPE = f"{PROJECT}/blob/main/docs/how-to/share-provenance.md"
"""The type of a statement of headwater, and the page that describes it."""
_PAYLOAD = "application/vnd.in-toto+json"
_MAKE_KEY = "openssl genpkey -algorithm ed25519 -out key.pem"
_MAKE_PUBLIC = "openssl pkey -in key.pem -pubout -out public.pem"


class Verified(NamedTuple):
    """A statement whose signature is valid, and the id of the key that signed it."""

    statement: Statement
    key_id: str


def signed(statement: Statement, key: Path) -> dict[str, Any]:
    """Return an envelope with a statement, signed with a private key in a PEM file.

    Raises:
        ConfigError: the file has no usable key, or securesystemslib is not installed.
    """
    signer = _signer(key)
    from securesystemslib.dsse import Envelope

    envelope = Envelope(json.dumps(statement).encode(), _PAYLOAD, {})
    envelope.sign(signer)
    found: dict[str, Any] = envelope.to_dict()
    return found


def verified(bundle: Path, key: Path) -> Verified:
    """Return the statement in an envelope file after verifying its signature.

    Raises:
        ConfigError: a file cannot be used.
        HeadwaterError: the signature is not of this key, or the envelope was changed.
    """
    public = _public_key(key)
    from securesystemslib.dsse import Envelope
    from securesystemslib.exceptions import VerificationError

    try:
        envelope = Envelope.from_dict(json.loads(bundle.read_bytes()))
    except OSError as error:
        raise ConfigError(f"{bundle}: {error.strerror}") from None
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise ConfigError(
            f"{bundle}: expected a file of `headwater provenance --bundle`, received "
            f"{type(error).__name__}: {error}"
        ) from None
    try:
        envelope.verify([public], 1)
    except VerificationError:
        signers = ", ".join(key_id[:16] for key_id in envelope.signatures) or "no key"
        is_same = public.keyid in envelope.signatures
        cause = "The file was changed" if is_same else "The file is not signed with this key"
        raise HeadwaterError(
            f"{bundle}: the signature is not valid. Signed by {signers}, expected "
            f"{public.keyid[:16]}, the key of {key}. {cause}."
        ) from None
    if envelope.payload_type != _PAYLOAD:
        raise ConfigError(f"{bundle}: received {envelope.payload_type}, expected {_PAYLOAD}")
    statement = json.loads(envelope.payload)
    definition = statement.get("predicate", {}).get("buildDefinition", {})
    if (build := definition.get("buildType")) != BUILD_TYPE:
        raise ConfigError(f"{bundle}: received a statement of type {build}, expected {BUILD_TYPE}")
    return Verified(statement, public.keyid)


def digests(file: Path) -> dict[str, str]:
    """Return the SHA-1 and SHA-256 of a file. Raises ConfigError if it cannot be read.

    The values are hexadecimal, by the names sha1 and sha256.
    """
    found = {}
    try:
        for name in ("sha1", "sha256"):
            with file.open("rb") as opened:
                found[name] = hashlib.file_digest(opened, name).hexdigest()
    except OSError as error:
        raise ConfigError(f"{file}: {error.strerror}") from None
    return found


def _signer(key: Path) -> CryptoSigner:
    """Return the private key in a file. Raises ConfigError if it cannot be used."""
    pem = _pem(key, f"a private key of a file made with: {_MAKE_KEY}")
    from cryptography.hazmat.primitives.serialization import load_pem_private_key
    from securesystemslib.signer import CryptoSigner  # type: ignore[attr-defined]

    try:
        return CryptoSigner(load_pem_private_key(pem, None))
    except (ValueError, TypeError) as error:  # TypeError: it needs a password
        raise ConfigError(
            f"{key}: {error}. Expected a private key without a password, such as one made with: "
            f"{_MAKE_KEY}"
        ) from None


def _public_key(key: Path) -> SSlibKey:
    """Return the public key in a file. Raises ConfigError if it cannot be used."""
    pem = _pem(key, f"the public key of the signer, made with: {_MAKE_PUBLIC}")
    from cryptography.hazmat.primitives.serialization import load_pem_public_key
    from securesystemslib.signer import SSlibKey  # type: ignore[attr-defined]

    try:
        return SSlibKey.from_crypto(load_pem_public_key(pem))
    except ValueError as error:
        raise ConfigError(
            f"{key}: {error}. Expected the public key of the signer, made with: {_MAKE_PUBLIC}"
        ) from None


def _pem(key: Path, expected: str) -> bytes:
    """Return the content of a key file, after checking that the libraries are installed.

    `expected` describes the file in messages. Raises ConfigError if it cannot be read.
    """
    try:
        import cryptography
        import securesystemslib

        del cryptography, securesystemslib
    except ImportError:
        raise ConfigError(
            f"signed provenance requires securesystemslib. {how_to_install('signing')}"
        ) from None
    try:
        return key.read_bytes()
    except OSError as error:
        raise ConfigError(f"{key}: {error.strerror}, expected {expected}") from None
