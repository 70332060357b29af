"""Certificate authorities and proxies of this machine's network, for Java and for containers.

Python, pip, uv and npm read them from environment variables. Java does not: it has its own trust
store format, and system properties for proxies.
"""

from __future__ import annotations

import hashlib
import os
import re
import warnings
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit
from urllib.request import getproxies

BUNDLE_VARIABLES = ("SSL_CERT_FILE", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE", "PIP_CERT")
SYSTEM_BUNDLES = (
    "/etc/ssl/certs/ca-certificates.crt",  # Debian, Ubuntu, Alpine, Arch
    "/etc/pki/tls/certs/ca-bundle.crt",  # Fedora, RHEL
    "/etc/ssl/ca-bundle.pem",  # openSUSE
    "/etc/ssl/cert.pem",  # macOS
)
JAVA_VARIABLES = ("JAVA_TOOL_OPTIONS", "JDK_JAVA_OPTIONS")
TRUST_STORE_PASSWORD = "changeit"  # Java's default; the store contains no secrets
CERTIFICATE = re.compile(r"-----BEGIN CERTIFICATE-----.+?-----END CERTIFICATE-----", re.DOTALL)
NO_PROXY = ("localhost", "127.*", "[::1]")


@dataclass(frozen=True)
class CaBundle:
    """A PEM file of certificate authorities."""

    path: Path
    source: str
    """The variable that names the file, or `the system's store`."""


def ca_bundle() -> CaBundle | None:
    """Return the bundle of the first variable that names a file, else the system's."""
    for name in BUNDLE_VARIABLES:
        path = Path(os.environ.get(name, ""))
        if path.is_file():
            return CaBundle(path.resolve(), name)
    for system in map(Path, SYSTEM_BUNDLES):
        if system.is_file():
            return CaBundle(system, "the system's store")
    return None


def proxies() -> dict[str, str]:
    """Return the environment's proxies by `http` and `https`; `no` lists hosts without one."""
    return {name: url for name, url in getproxies().items() if name in ("http", "https", "no")}


def java_options(state_dir: Path) -> list[str]:
    """Return the JVM options for this network's certificates and proxies.

    Options already in a variable that Java reads are left out: a command line would override them.
    """
    set_options = _given_to_java()
    options = [] if "-Dhttps.proxyHost=" in set_options else _proxy_options()
    bundle = ca_bundle()
    if "-Djavax.net.ssl.trustStore=" in set_options or bundle is None:
        return options
    store = _trust_store(bundle.path, state_dir)
    return [
        *options,
        f"-Djavax.net.ssl.trustStore={store}",
        "-Djavax.net.ssl.trustStoreType=PKCS12",
        f"-Djavax.net.ssl.trustStorePassword={TRUST_STORE_PASSWORD}",
    ]


def java_trust() -> str:
    """Return the source of Java's certificate authorities, for a message."""
    for name in JAVA_VARIABLES:
        if match := re.search(r"-Djavax\.net\.ssl\.trustStore=(\S+)", os.environ.get(name, "")):
            return f"{match[1]} ({name})"
    bundle = ca_bundle()
    return f"{bundle.path} ({bundle.source})" if bundle else "Java's own trust store"


def _given_to_java() -> str:
    return " ".join(os.environ.get(name, "") for name in JAVA_VARIABLES)


def _proxy_options() -> list[str]:
    environment_proxies = proxies()
    options = []
    for scheme in {"http", "https"} & environment_proxies.keys():
        url = (
            environment_proxies[scheme]
            if "://" in environment_proxies[scheme]
            else f"http://{environment_proxies[scheme]}"
        )
        parts = urlsplit(url)
        options += [
            f"-D{scheme}.proxyHost={parts.hostname}",
            f"-D{scheme}.proxyPort={parts.port or 80}",
        ]
    if options and environment_proxies.get("no"):
        names = [
            name.strip().lstrip("*").lstrip(".") for name in environment_proxies["no"].split(",")
        ]
        hosts = [host for name in names if name for host in (name, f"*.{name}")]
        options.append(f"-Dhttp.nonProxyHosts={'|'.join((*NO_PROXY, *hosts))}")
    return sorted(options)


def _trust_store(bundle: Path, state_dir: Path) -> Path:
    """Return a Java trust store with the bundle's certificates; built once per content."""
    text = bundle.read_text(errors="replace")
    store = state_dir / f"trust-{hashlib.sha256(text.encode()).hexdigest()[:12]}.p12"
    if not store.exists():
        state_dir.mkdir(parents=True, exist_ok=True)
        part = store.with_suffix(f".{os.getpid()}")
        part.write_bytes(_java_trust_store(text))
        part.replace(store)
    return store


def _java_trust_store(bundle: str) -> bytes:
    from cryptography.hazmat.primitives.serialization import BestAvailableEncryption
    from cryptography.hazmat.primitives.serialization.pkcs12 import (
        PKCS12Certificate,
        serialize_java_truststore,
    )
    from cryptography.x509 import load_pem_x509_certificate

    certificates = []
    for number, pem in enumerate(CERTIFICATE.findall(bundle)):
        # One of 150 certificates in a bundle may be invalid; the others are still needed.
        with warnings.catch_warnings(action="ignore"), suppress(ValueError):
            certificate = load_pem_x509_certificate(pem.encode())
            certificates.append(PKCS12Certificate(certificate, str(number).encode()))
    return serialize_java_truststore(
        certificates, BestAvailableEncryption(TRUST_STORE_PASSWORD.encode())
    )
