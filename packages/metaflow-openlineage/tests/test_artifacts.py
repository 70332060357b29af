"""Artifacts that count as read and as written."""

from __future__ import annotations

import pickle

import pytest

from metaflow_openlineage._artifacts import (
    InMemory,
    Options,
    Stored,
    WatchedStore,
    equal_content,
    read_and_written,
    stored_in,
)

UPSTREAM = {"data": {"sha-1"}}


class Store:
    """A datastore of two artifacts."""

    ds_metadata = {
        "objects": {"data": "sha-1", "_own": "sha-2"},
        "info": {"data": {"type": "<class 'list'>", "size": 9}},
    }

    def __contains__(self, name):
        return name in self.ds_metadata["objects"]

    def __getitem__(self, name):
        return [name]


def changed(name: str, sha: str) -> bool:
    return False


def unchanged(name: str, sha: str) -> bool:
    return True


def test_artifact_passed_on_is_neither_read_nor_written():
    assert read_and_written(UPSTREAM, {}, {}, {"data": Stored("sha-1")}, changed) == ([], [])


def test_loaded_artifact_is_read():
    loads = {("data", "sha-1"): InMemory(1)}
    found = read_and_written(
        UPSTREAM, loads, {"data": InMemory(1)}, {"data": Stored("sha-1")}, changed
    )
    assert found == ([("data", "sha-1")], [])


def test_new_content_is_written():
    found = read_and_written(
        UPSTREAM, {}, {"model": InMemory(1)}, {"model": Stored("sha-9")}, changed
    )
    assert found == ([], ["model"])


@pytest.mark.parametrize(("verdict", "written"), [(unchanged, []), (changed, ["data"])])
def test_restored_artifact_is_written_only_if_changed(verdict, written):
    loads = {("data", "sha-1"): InMemory(1)}
    found = read_and_written(
        UPSTREAM, loads, {"data": InMemory(1)}, {"data": Stored("sha-2")}, verdict
    )
    assert found == ([("data", "sha-1")], written)


def test_replaced_artifact_is_read_and_written():
    loads = {("data", "sha-1"): InMemory(1)}
    stored = {"data": Stored("sha-2")}
    found = read_and_written(UPSTREAM, loads, {"data": InMemory(2)}, stored, unchanged)
    assert found == ([("data", "sha-1")], ["data"])


def test_artifact_created_and_loaded_by_a_step_is_not_read():
    loads = {("model", "sha-9"): InMemory(1)}
    assert read_and_written(UPSTREAM, loads, {}, {}, changed) == ([], [])


def test_watched_store_records_loaded_artifacts():
    loads: dict[tuple[str, str], InMemory] = {}
    watched = WatchedStore(Store(), loads, lambda name, _: ("metaflow://x", f"F/{name}"))
    assert "data" in watched
    assert watched["data"] == ["data"]
    assert watched["_own"] == ["_own"]
    assert list(loads) == [("data", "sha-1")]
    assert stored_in(watched)["data"] == Stored("sha-1", "<class 'list'>", 9)


@pytest.mark.parametrize(
    "kind",
    ["NoneType", "bool", "int", "float", "str", "datetime.date", "numpy.float64", "numpy.bool"],
)
def test_scalars_are_not_datasets(kind):
    assert not Options().is_dataset("x", f"<class '{kind}'>")
    assert Options(include=("x",)).is_dataset("x", f"<class '{kind}'>")


@pytest.mark.parametrize("name", ["_own", "input", "index", "name", "scratch"])
def test_private_reserved_and_excluded_names_are_not_datasets(name):
    assert not Options(exclude=("scratch",)).is_dataset(name, "<class 'list'>")
    for kind in ("list", "numpy.ndarray", "strange.Type"):
        assert Options().is_dataset("data", f"<class '{kind}'>")


def test_models_are_recognized_by_name_or_declaration():
    kinds = {name: Options().dataset_type(name) for name in ("model", "churn_model", "models")}
    assert kinds == {"model": "MODEL", "churn_model": "MODEL", "models": "JOB_OUTPUT"}
    assert Options(models=("fitted",)).dataset_type("fitted") == "MODEL"
    assert Options(models=("fitted",)).dataset_type("model") == "JOB_OUTPUT"


def test_frame_stored_twice_has_equal_content():
    pandas = pytest.importorskip("pandas", reason="optional dependency")
    frame = pandas.DataFrame({"a": [1, 2], "b": ["x", None]})
    again = pickle.loads(pickle.dumps(frame))
    assert equal_content(frame, again)
    again.loc[0, "a"] = 7
    assert not equal_content(frame, again)


def test_content_without_truth_value_is_compared_by_bytes():
    numpy = pytest.importorskip("numpy", reason="optional dependency")
    one = {"a": numpy.array([1, 2])}
    assert equal_content(one, pickle.loads(pickle.dumps(one)))
    assert not equal_content(one, {"a": numpy.array([1, 3])})
