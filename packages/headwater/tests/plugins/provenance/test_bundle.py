"""Signed provenance: `provenance --bundle` writes it, `verify` checks it without a server."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from pathlib import Path
from typing import Any

import orjson
import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    PublicFormat,
)

from headwater.plugins.provenance._unknown import unknown_facts
from headwater.plugins.provenance.commands import _subject_of
from headwater.plugins.provenance.envelope import signed
from packages.headwater.tests.conftest import Call

_COMMIT = "e2178629b0c516a05138c91cf6b98f0945e2262b"
_MODEL = "2fd4e1c67a2d28fced849ee1bb76e7391b93eb12"


def write_keys(folder: Path, private: str, public: str) -> None:
    """Write the files of a new pair of keys."""
    key = Ed25519PrivateKey.generate()
    secret = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    (folder / private).write_bytes(secret)
    shown = key.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
    (folder / public).write_bytes(shown)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the current folder, with two pairs of keys and a model."""
    monkeypatch.chdir(tmp_path)
    for name in ("own", "other"):
        write_keys(tmp_path, f"{name}.pem", f"{name}.public.pem")
    Path("model.pkl").write_text("a model")
    Path("other.pkl").write_text("another model")
    return tmp_path


@pytest.fixture
def log(folder: Path, build: Any, call: Call) -> str:
    """Return a log with a load, its check and a training, whose versions are reported."""
    load = build.run("COMPLETE", "1", "load", "08:00:00", reads=("s3://lake|in",), writes=("db|t",))
    train = build.run(
        "COMPLETE", "2", "Flow.train", "09:00:00", reads=("db|t",), writes=("metaflow://m|Flow/model",)
    )  # fmt: skip
    check = build.run("COMPLETE", "3", "check", "08:30:00", reads=("db|t",))
    assertions = [
        {"assertion": "not_null", "column": "id", "success": True},
        {"assertion": "unique", "success": False},
    ]
    check["inputs"][0]["inputFacets"] = {"dataQualityAssertions": {"assertions": assertions}}
    for dataset, version in (
        (load["outputs"][0], "7"),
        (train["inputs"][0], "7"),
        (check["inputs"][0], "7"),
        (train["outputs"][0], _MODEL),
    ):
        dataset["facets"] = {"version": {"datasetVersion": version}}
    place = {"type": "git", "repoUrl": "https://git.example/r", "path": "flow.py"}
    train["job"]["facets"]["sourceCodeLocation"] = {**place, "version": _COMMIT}
    load["job"]["facets"]["sourceCodeLocation"] = {**place, "version": f"{_COMMIT}-dirty"}
    parameters = [{"key": "days", "name": "days", "value": "30"}]
    train["run"]["facets"]["executionParameters"] = {"parameters": parameters}
    Path("events.jsonl").write_bytes(b"\n".join(map(orjson.dumps, (load, check, train))))
    call("ingest", "events.jsonl", "--database", "log.db")
    return "log.db"


def _bundle(call: Call, log: str, *options: str) -> None:
    command = ("provenance", "Flow/model", "--database", log, "--bundle", "b.json")
    assert call(*command, "--key", "own.pem", *options).returncode == 0


def _statement() -> Any:
    return json.loads(base64.b64decode(json.loads(Path("b.json").read_bytes())["payload"]))


def test_statement_lists_versions_code_checks_and_unknown_facts(log: str, call: Call) -> None:
    _bundle(call, log, "--file", "model.pkl")
    statement = _statement()
    content = Path("model.pkl").read_bytes()
    hashes = {name: hashlib.new(name, content).hexdigest() for name in ("sha1", "sha256")}
    assert statement["_type"] == "https://in-toto.io/Statement/v1"
    assert statement["predicateType"] == "https://slsa.dev/provenance/v1"
    assert statement["subject"] == [
        {"name": "dataset:metaflow://m:Flow/model", "digest": {"sha1": _MODEL}},
        {"name": "model.pkl", "digest": hashes},
    ]
    built = statement["predicate"]["buildDefinition"]
    assert built["externalParameters"]["parameters"] == {"days": "30"}
    assert built["resolvedDependencies"] == [
        {"name": "dataset:db:t", "digest": {"version": "7"}},
        {"name": "dataset:s3://lake:in"},
        {"uri": "git+https://git.example/r", "digest": {"gitCommit": _COMMIT}},
        {"uri": "git+https://git.example/r"},  # had uncommitted changes
    ]
    lineage = built["internalParameters"]
    assert [run["job"]["name"] for run in lineage["runs"]] == ["Flow.train", "load"]
    (check,) = lineage["checks"]
    assert (check["passed"], check["failed"]) == (["not_null of id"], ["unique"])
    assert lineage["unknown"] == [
        "1 run had uncommitted changes of the code.",
        "The version of 1 input was not reported by the run that read it; if shown, it is the "
        "version that was written before.",
    ]
    assert statement["predicate"]["runDetails"]["metadata"]["invocationId"].endswith("2")


def test_signature_and_files_are_verified_without_a_server(log: str, call: Call) -> None:
    _bundle(call, log, "--file", "model.pkl")
    Path("log.db").unlink()
    verified = call("verify", "b.json", "model.pkl", "--key", "own.public.pem")
    assert verified.returncode == 0
    assert "valid" in verified.stdout
    assert "model.pkl is model.pkl" in verified.stdout
    other = call("verify", "b.json", "other.pkl", "--key", "own.public.pem", "--json")
    assert (other.returncode, json.loads(other.stdout)["files"]) == (1, {"other.pkl": None})


def test_file_with_only_one_of_the_digests_of_a_subject_does_not_match() -> None:
    digests = {"sha1": "1" * 40, "sha256": "2" * 64}
    subjects: list[Any] = [{"name": "model.pkl", "digest": digests}]
    assert _subject_of(subjects, digests) == "model.pkl"
    assert _subject_of(subjects, {**digests, "sha256": "3" * 64}) is None


def test_signed_statement_of_another_type_is_refused(folder: Path, call: Call) -> None:
    other: Any = {"_type": "https://in-toto.io/Statement/v1", "predicateType": "other"}
    Path("b.json").write_text(json.dumps(signed(other, folder / "own.pem")))
    result = call("verify", "b.json", "--key", "own.public.pem")
    assert result.returncode == 2
    assert "received a statement of type None" in result.stderr


@pytest.mark.parametrize("place", ["payload", "payloadType", "sig"])
def test_changed_bundle_is_not_valid(place: str, log: str, call: Call) -> None:
    _bundle(call, log)
    bundle = json.loads(Path("b.json").read_bytes())
    if place == "payload":
        text = base64.b64decode(bundle["payload"]).replace(_MODEL.encode(), _COMMIT.encode())
        bundle["payload"] = base64.b64encode(text).decode()
    elif place == "payloadType":
        bundle["payloadType"] = "application/json"
    else:
        bundle["signatures"][0]["sig"] = base64.b64encode(bytes(64)).decode()
    Path("b.json").write_text(json.dumps(bundle))
    result = call("verify", "b.json", "--key", "own.public.pem")
    assert result.returncode == 1
    assert "b.json: the signature is not valid" in result.stderr
    assert "The file was changed" in result.stderr


def test_bundle_of_another_key_is_not_valid(log: str, call: Call) -> None:
    _bundle(call, log)
    result = call("verify", "b.json", "--key", "other.public.pem")
    assert result.returncode == 1
    assert "The file is not signed with this key" in result.stderr


def test_statement_is_about_the_chosen_version(log: str, build: Any, call: Call) -> None:
    again = build.run("COMPLETE", "4", "load", "10:00:00", writes=("db|t",))
    again["outputs"][0]["facets"] = {"version": {"datasetVersion": "8"}}
    Path("more.jsonl").write_bytes(orjson.dumps(again))
    call("ingest", "more.jsonl", "--database", log)
    command = ("provenance", "dataset:db:t", "--database", log, "--bundle", "b.json")
    for options, version, jobs in (((), "8", ["load"]), (("--version", "7"), "7", ["load"])):
        assert call(*command, "--key", "own.pem", *options).returncode == 0
        assert _statement()["subject"][0]["digest"] == {"version": version}
        runs = _statement()["predicate"]["buildDefinition"]["internalParameters"]["runs"]
        assert [run["job"]["name"] for run in runs] == jobs


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("provenance", "t", "--bundle", "b.json"), "--bundle: received without --key"),
        (("provenance", "t", "--key", "own.pem"), "received without --bundle"),
        (
            ("provenance", "t", "--bundle", "b.json", "--key", "own.public.pem"),
            "own.public.pem: .*Expected a private key without a password",
        ),
        (
            ("provenance", "t", "--bundle", "b.json", "--key", "no.pem"),
            "no.pem: No such file or directory, expected a private key",
        ),
        (
            ("provenance", "t", "--bundle", "b.json", "--key", "own.pem", "--file", "no.pkl"),
            "no.pkl: No such file or directory",
        ),
        (
            ("provenance", "t", "--bundle", "no/b.json", "--key", "own.pem"),
            "--bundle no/b.json: No such file or directory",
        ),
        (
            ("provenance", "in", "--bundle", "b.json", "--key", "own.pem"),
            "no known run wrote any version of in",
        ),
        (
            ("provenance", "t", "--version", "9", "--bundle", "b.json", "--key", "own.pem"),
            "no known run wrote version '9' of t",
        ),
        (("verify", "model.pkl", "--key", "own.public.pem"), "model.pkl: expected a file of"),
        (("verify", "no.json", "--key", "own.public.pem"), "no.json: No such file or directory"),
        (("verify", "model.pkl", "--key", "own.pem"), "own.pem: .*Expected the public key"),
    ],
)
def test_unusable_input_is_named(
    arguments: tuple[str, ...], message: str, log: str, call: Call
) -> None:
    where = ("--database", log) if arguments[0] == "provenance" else ()
    result = call(*arguments, *where)
    assert result.returncode in (1, 2)
    assert not Path("b.json").exists()
    text = " ".join(result.stderr.split())
    assert re.search(message, text), text


def test_complete_provenance_has_nothing_unknown() -> None:
    name = {"namespace": "n", "name": "t"}
    entry: Any = {
        "job": name,
        "run": {"runId": "1", "state": "COMPLETED"},
        "code": {"version": _COMMIT},
        "inputs": [],
        "outputs": [{**name, "versions": ["7"]}],
    }
    assert unknown_facts([entry], None, 0) == []
    incomplete: list[Any] = [
        {**entry, "run": {"runId": "1", "state": "RUNNING"}},
        {**entry, "code": {}},
        {**entry, "code": {"version": f"{_COMMIT}-dirty"}},
        {**entry, "run": None, "code": {}},
        {**entry, "outputs": [{**name, "versions": ["1"]}]},
    ]
    for changed in incomplete:
        assert len(unknown_facts([changed], None, 0)) == 1, changed
    assert len(unknown_facts([entry], None, 1)) == 1
    deleted: Any = {"before": "2025-01-01T00:00:00Z", "deletedAt": "2026-02-03T00:00:00Z"}
    assert unknown_facts([entry], deleted, 0)[0].startswith("Older sources were deleted")
    assert unknown_facts([], None, 0)[0].startswith("No known run wrote it")
