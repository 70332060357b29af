from __future__ import annotations

from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headwater.events import Dataset
from headwater.identity import DatasetName, Identity, canonical_name


@pytest.mark.parametrize(
    ("spelling", "expected"),
    [
        (("s3a://lake", "sales/2025"), ("s3://lake", "sales/2025")),
        (("s3n://lake", "/sales/2025/"), ("s3://lake", "sales/2025")),
        (("file", "/a/b"), ("file", "/a/b")),
        (("file://", "/"), ("file", "/")),
        (("file://", "/a/b"), ("file", "/a/b")),
        (("file", "file:///a/b"), ("file", "/a/b")),
        (("file:", "file:/a/b"), ("file", "/a/b")),
        (("file:///", "a/b/"), ("file", "/a/b")),
        (("file://localhost", "/a/b"), ("file", "/a/b")),
        (("file://nas", "/a/b"), ("file://nas", "/a/b")),
        (
            ("aws:glue:eu-west-1:123456789012", "db.t"),
            ("arn:aws:glue:eu-west-1:123456789012", "table/db/t"),
        ),
        (
            ("arn:aws-cn:glue:cn-north-1:123456789012/", "table/db/t.x"),
            ("arn:aws-cn:glue:cn-north-1:123456789012", "table/db/t.x"),
        ),
        (("aws:glue:x:123456789012", "a/b/c/d"), ("aws:glue:x:123456789012", "a/b/c/d")),
        (("arn:aws:glue:eu-west-1:1", "table/db/t"), ("arn:aws:glue:eu-west-1:1", "table/db/t")),
        (("postgres://db:5432", "a.b.C"), ("postgres://db:5432", "a.b.C")),
    ],
)
def test_spellings_of_a_location_have_one_name(
    spelling: tuple[str, str], expected: tuple[str, str]
) -> None:
    assert canonical_name(*spelling) == expected


def _linked(name: str, *links: tuple[str, str, str]) -> Dataset:
    keys = ("namespace", "name", "type")
    identifiers = [dict(zip(keys, link, strict=True)) for link in links]
    facets = {"symlinks": {"identifiers": identifiers}} if links else {}
    namespace, own = name.split("|")
    return Dataset(namespace, own, facets)


def test_table_symlink_is_primary_and_path_is_alias() -> None:
    identity = Identity()
    path = identity.add(_linked("file|/wh/t", ("hive://lake:9083", "nyc.t", "TABLE")))
    assert identity.primary(path) == ("hive://lake:9083", "nyc.t")
    assert identity.names(path) == [("hive://lake:9083", "nyc.t"), ("file", "/wh/t")]


def test_table_symlink_precedes_every_other_name() -> None:
    identity = Identity()
    name = identity.add(_linked("db://a|t", ("db://z", "t", "TABLE"), ("db://b", "view", "VIEW")))
    assert identity.names(name) == [("db://z", "t"), ("db://a", "t"), ("db://b", "view")]


def test_logical_name_precedes_its_location() -> None:
    identity = Identity()
    name = identity.add(_linked("hive://a|zz.t", ("s3://aa", "t", "LOCATION")))
    assert identity.primary(name) == name


def test_joins_do_not_depend_on_order() -> None:
    datasets = [
        _linked("s3a://lake|t", ("arn:aws:glue:eu-west-1:1", "table/db/t", "TABLE")),
        _linked("arn:aws:glue:eu-west-1:1|table/db/t"),
        _linked("s3://lake|t"),
        _linked("file|/x", ("db://h", "view", "VIEW"), ("db://h", "table", "TABLE")),
        _linked("db://h|view", ("s3n://lake", "/t/", "LOCATION")),
        _linked("db|alone"),
    ]
    result = set()
    for seed in range(60):
        order = datasets * 2
        Random(seed).shuffle(order)
        identity = Identity()
        for dataset in order:
            identity.add(dataset)
        result.add(tuple(tuple(identity.names(name)) for name in sorted(identity)))
    assert len(result) == 1
    (classes,) = result
    assert len(classes) == 2
    assert classes[0][0] == ("arn:aws:glue:eu-west-1:1", "table/db/t")


def test_symlink_to_the_dataset_itself_is_ignored() -> None:
    identity = Identity()
    name = identity.add(_linked("s3a://lake|t", ("s3://lake", "t", "LOCATION")))
    assert (identity.symlinks, identity.names(name)) == (set(), [name])


def test_symlink_without_a_name_is_ignored() -> None:
    identity = Identity()
    broken = {"identifiers": [{"namespace": "a"}, "text", {"namespace": "", "name": ""}]}
    name = identity.add(Dataset("db", "t", {"symlinks": broken}))
    assert identity.names(name) == [DatasetName("db", "t")]


_PARTS = st.text("ab/:.x1-", max_size=8)
_NAMESPACES = st.one_of(
    st.sampled_from(
        ["s3a://lake", "S3N://lake/", "s3://lake", "file", "file://", "file:///", "FILE:",
         "file://localhost", "file://nas", "hdfs://n:8020", "aws:glue:eu-west-1:123456789012",
         "arn:aws:glue:eu-west-1:123456789012/", "postgres://db:5432"]
    ),
    _PARTS,
)  # fmt: skip
_NAMES = st.one_of(_PARTS, st.sampled_from(["db.t", "table/db/t", "/a/b/", "file:///a", "/", ""]))


@given(namespace=_NAMESPACES, name=_NAMES)
def test_canonical_spelling_is_idempotent(namespace: str, name: str) -> None:
    once = canonical_name(namespace, name)
    assert canonical_name(*once) == once


@given(bucket=st.from_regex(r"[a-z]{3,9}", fullmatch=True), key=st.text("ab/.", max_size=9))
def test_every_spelling_of_a_bucket_is_one_name(bucket: str, key: str) -> None:
    names = {
        canonical_name(f"{scheme}://{bucket}{end}", f"{start}{key}")
        for scheme in ("s3", "s3a", "s3n", "S3A")
        for end in ("", "/")
        for start in ("", "/")
    }
    assert len(names) == 1


_NODES = [DatasetName(space, name) for space in ("db://h", "s3://b", "hive://h") for name in "xyz"]
_PAIRS = st.sets(st.tuples(st.sampled_from(_NODES), st.sampled_from(_NODES)), max_size=8)


def _components(
    names: set[DatasetName], pairs: set[tuple[DatasetName, DatasetName]]
) -> set[frozenset[DatasetName]]:
    """Return the connected components of a graph, as a reference for the union-find."""
    results: set[frozenset[DatasetName]] = {frozenset({name}) for name in names}
    for one, other in pairs:
        parts = {part for part in results if part & {one, other}}
        results = (results - parts) | {frozenset().union(*parts)}
    return results


def _datasets_of(identity: Identity) -> set[frozenset[DatasetName]]:
    return {frozenset(identity.names(primary)) for primary in identity}


def _identity(symlinks: set[tuple[DatasetName, DatasetName]]) -> Identity:
    identity = Identity()
    for node in _NODES:
        identity.add(Dataset(*node))
    for one, other in symlinks:
        identity.add(_linked("|".join(one), (*other, "ALIAS")))
    return identity


@given(symlinks=_PAIRS, first=_PAIRS, second=_PAIRS)
def test_aliases_join_and_split_exactly_the_connected_names(
    symlinks: set[tuple[DatasetName, DatasetName]],
    first: set[tuple[DatasetName, DatasetName]],
    second: set[tuple[DatasetName, DatasetName]],
) -> None:
    identity = _identity(symlinks)
    for pairs in (first, second, set()):
        identity.set_manual(pairs, set())
        assert _datasets_of(identity) == _components(set(_NODES), symlinks | pairs)


@given(symlinks=_PAIRS, pairs=_PAIRS)
def test_primary_name_is_a_table_name_before_a_location(
    symlinks: set[tuple[DatasetName, DatasetName]], pairs: set[tuple[DatasetName, DatasetName]]
) -> None:
    identity = _identity(symlinks)
    identity.set_manual(pairs, set())
    for node in _NODES:
        names = identity.names(node)
        logical = [name for name in names if not name.namespace.startswith("s3://")]
        assert identity.primary(node) == names[0] == min(logical or names)


def test_names_with_a_new_primary_name_are_recorded() -> None:
    identity = Identity()
    for name in "bcd":
        identity.add(_linked(f"db://h|{name}"))
    identity.add(_linked("db://h|b"))
    assert identity.renamed == set()
    identity.add(_linked("db://h|c", ("db://h", "b", "")))
    assert identity.renamed == {("db://h", "c")}
    identity.renamed.clear()
    identity.add(_linked("db://h|d", ("db://h", "a", "TABLE"), ("db://h", "b", "")))
    assert identity.renamed == {("db://h", "b"), ("db://h", "c"), ("db://h", "d")}
