from __future__ import annotations

from random import Random

import pytest

from throughline.events import Dataset
from throughline.identity import DatasetName, Identity, canonical_name


@pytest.mark.parametrize(
    ("spelling", "expected"),
    [
        (("s3a://lake", "sales/2025"), ("s3://lake", "sales/2025")),
        (("s3n://lake", "/sales/2025/"), ("s3://lake", "sales/2025")),
        (("file", "/a/b"), ("file", "/a/b")),
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
    name = identity.add(_linked("aaa|t", ("zzz", "t", "TABLE"), ("bbb", "view", "VIEW")))
    assert identity.names(name) == [("zzz", "t"), ("aaa", "t"), ("bbb", "view")]


def test_logical_name_precedes_its_location() -> None:
    identity = Identity()
    name = identity.add(_linked("hive://a|zz.t", ("s3://aa", "t", "LOCATION")))
    assert identity.primary(name) == name


def test_joins_do_not_depend_on_order() -> None:
    datasets = [
        _linked("s3a://lake|t", ("arn:aws:glue:eu-west-1:1", "table/db/t", "TABLE")),
        _linked("arn:aws:glue:eu-west-1:1|table/db/t"),
        _linked("s3://lake|t"),
        _linked("file|/x", ("db", "view", "VIEW"), ("db", "table", "TABLE")),
        _linked("db|view", ("s3n://lake", "/t/", "LOCATION")),
        _linked("db|alone"),
    ]
    found = set()
    for seed in range(60):
        order = datasets * 2
        Random(seed).shuffle(order)
        identity = Identity()
        for dataset in order:
            identity.add(dataset)
        found.add(tuple(tuple(identity.names(name)) for name in sorted(identity)))
    assert len(found) == 1
    (classes,) = found
    assert len(classes) == 2
    assert classes[0][0] == ("arn:aws:glue:eu-west-1:1", "table/db/t")


def test_symlink_without_a_name_is_ignored() -> None:
    identity = Identity()
    broken = {"identifiers": [{"namespace": "a"}, "text", {"namespace": "", "name": ""}]}
    name = identity.add(Dataset("db", "t", {"symlinks": broken}))
    assert identity.names(name) == [DatasetName("db", "t")]
