"""Java behind a company proxy with its own certificate authority."""

from __future__ import annotations

import ssl
import threading
from collections.abc import Iterator
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
import trustme

from lakehouse import network
from lakehouse.errors import SetupError
from lakehouse.network import (
    BUNDLE_VARIABLES,
    JAVA_VARIABLES,
    CaBundle,
    ca_bundle,
    java_options,
    java_trust,
)
from lakehouse.settings import Settings
from spark_jobs.runtime import download
from spark_jobs.session import submit_conf

pytestmark = pytest.mark.spark

JAR = {"parser": ("org.example", "1.0")}
CONTENT = b"a jar, as far as Ivy looks into it"


@pytest.fixture(autouse=True)
def no_variables(monkeypatch: pytest.MonkeyPatch) -> None:
    """Remove this machine's network variables."""
    proxies = [f"{name}_proxy" for name in ("http", "https", "no", "all")]
    for name in (*BUNDLE_VARIABLES, *JAVA_VARIABLES, *proxies, *map(str.upper, proxies)):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture(scope="module")
def authority() -> trustme.CA:
    return trustme.CA()


@pytest.fixture
def pem(authority: trustme.CA, tmp_path: Path) -> Path:
    """Return the company's bundle: its authority and one invalid entry."""
    path = tmp_path / "company authority.pem"
    broken = b"-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----\n"
    path.write_bytes(broken + authority.cert_pem.bytes())
    return path


class _Proxy(BaseHTTPRequestHandler):
    """A proxy that responds for every host with a certificate of the company's authority."""

    authority: trustme.CA

    def do_CONNECT(self) -> None:
        self.send_response(200)
        self.end_headers()
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self.authority.issue_cert(self.path.partition(":")[0]).configure_cert(context)
        with suppress(OSError):  # the client rejects the certificate
            self.connection = context.wrap_socket(self.connection, server_side=True)
            self.rfile = self.connection.makefile("rb")
            self.wfile = self.connection.makefile("wb", buffering=0)  # type: ignore[assignment]
            self.handle_one_request()
        self.close_connection = True

    def finish(self) -> None:
        with suppress(OSError):
            super().finish()
        self.connection.close()

    def do_GET(self) -> None:
        content = CONTENT if self.path.endswith(".jar") else b""
        self.send_response(200 if content else 404)
        self.send_header("Content-Length", str(len(content)))
        self.send_header("Connection", "close")
        self.end_headers()
        if self.command == "GET":
            self.wfile.write(content)

    do_HEAD = do_GET

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def proxy(authority: trustme.CA, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """Start a proxy and set HTTPS_PROXY to it."""
    monkeypatch.setattr(_Proxy, "authority", authority, raising=False)
    with ThreadingHTTPServer(("127.0.0.1", 0), _Proxy) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        url = f"http://127.0.0.1:{server.server_port}"
        monkeypatch.setenv("HTTPS_PROXY", url)
        yield url
        server.shutdown()


def test_jars_arrive_through_the_proxy_with_its_authority(
    proxy: str, pem: Path, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", str(pem))
    download(settings, JAR, settings.state_dir / "jars")
    assert (settings.state_dir / "jars" / "parser-1.0.jar").read_bytes() == CONTENT


def test_rejected_certificate_error_names_bundle_and_variable(
    proxy: str, settings: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = tmp_path / "other.pem"
    trustme.CA().cert_pem.write_to_path(str(other))
    monkeypatch.setenv("PIP_CERT", str(other))
    with pytest.raises(SetupError, match="rejected the certificate of Maven Central") as raised:
        download(settings, JAR, settings.state_dir / "jars")
    assert f"{other} (PIP_CERT)" in str(raised.value)
    assert "set SSL_CERT_FILE to a PEM file" in str(raised.value)


def test_unreachable_proxy_is_not_a_certificate_error(
    settings: Settings, pem: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HTTPS_PROXY", "http://127.0.0.1:9")
    with pytest.raises(
        SetupError, match="did not return parser-1.0.jar.*set HTTPS_PROXY="
    ) as raised:
        download(settings, JAR, settings.state_dir / "jars")
    assert "certificate" not in str(raised.value)


def test_bundle_comes_from_the_first_variable_with_a_file(
    pem: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(pem.parent)
    monkeypatch.setenv("SSL_CERT_FILE", "/no/such/file")
    monkeypatch.setenv("PIP_CERT", pem.name)
    assert ca_bundle() == CaBundle(pem, "PIP_CERT")
    other = tmp_path / "other.pem"
    other.write_bytes(pem.read_bytes())
    monkeypatch.setenv("CURL_CA_BUNDLE", str(other))
    assert ca_bundle() == CaBundle(other, "CURL_CA_BUNDLE")


def test_without_a_variable_the_bundle_is_the_system_store(
    pem: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(network, "SYSTEM_BUNDLES", ("/no/such/file", str(pem)))
    assert ca_bundle() == CaBundle(pem, "the system's store")
    monkeypatch.setattr(network, "SYSTEM_BUNDLES", ("/no/such/file",))
    assert ca_bundle() is None
    assert java_trust() == "Java's own trust store"


def test_changed_bundle_gets_its_own_trust_store(
    pem: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    state = tmp_path / "state"
    monkeypatch.setenv("SSL_CERT_FILE", str(pem))
    before = java_options(state)
    assert java_options(state) == before
    pem.write_bytes(trustme.CA().cert_pem.bytes())
    assert java_options(state) != before
    assert len(list(state.glob("trust-*.p12"))) == 2


@pytest.mark.parametrize("variable", ["JAVA_TOOL_OPTIONS", "JDK_JAVA_OPTIONS"])
def test_existing_java_options_are_not_overridden(
    variable: str, pem: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", str(pem))
    monkeypatch.setenv("HTTPS_PROXY", "proxy.example.com:3128")
    options = "-Djavax.net.ssl.trustStore=/own.jks -Dhttps.proxyHost=own.example.com"
    monkeypatch.setenv(variable, options)
    assert java_options(tmp_path) == []
    assert java_trust() == f"/own.jks ({variable})"


def test_java_gets_proxies_and_exceptions(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JAVA_TOOL_OPTIONS", "-Djavax.net.ssl.trustStore=/own.jks")
    monkeypatch.setenv("HTTPS_PROXY", "proxy.example.com:3128")
    monkeypatch.setenv("HTTP_PROXY", "http://proxy.example.com")
    monkeypatch.setenv("NO_PROXY", ".corp.example, db")
    assert java_options(tmp_path) == [
        "-Dhttp.nonProxyHosts=localhost|127.*|[::1]|corp.example|*.corp.example|db|*.db",
        "-Dhttp.proxyHost=proxy.example.com",
        "-Dhttp.proxyPort=80",
        "-Dhttps.proxyHost=proxy.example.com",
        "-Dhttps.proxyPort=3128",
    ]


def test_spark_drivers_get_quoted_java_options(
    pem: Path, settings: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", str(pem))
    state = tmp_path / "a folder"
    conf = submit_conf(settings.model_copy(update={"state_dir": state}))
    (store,) = state.glob("trust-*.p12")
    assert f'"-Djavax.net.ssl.trustStore={store}"' in conf["spark.driver.extraJavaOptions"]


def test_class_archive_can_be_switched_off(lake: Settings) -> None:
    off = lake.model_copy(update={"spark_java_options": "-Xshare:off"})
    assert "-XX:SharedArchiveFile=" in submit_conf(lake)["spark.driver.extraJavaOptions"]
    assert "-XX:SharedArchiveFile=" not in submit_conf(off)["spark.driver.extraJavaOptions"]
