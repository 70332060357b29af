"""The public API, and its behavior outside a step."""

from __future__ import annotations

import inspect
import pkgutil
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import metaflow_openlineage
from metaflow_openlineage import (
    Dataset,
    artifact,
    query,
    reads,
    spark_conf,
    table_read,
    table_written,
    writes,
)

# Metaflow's own import of a moved module; it depends on which packages are installed.
pytestmark = pytest.mark.filterwarnings("ignore:The _yaml extension module")

ROOT = Path(__file__).parent.parent
RUN = "01a1fd4a-49ef-7259-9396-ffb99203fb3f"
TABLE = Dataset("lake", "nyc.trips")


def test_all_lists_exactly_the_public_names():
    public = {name for name in vars(metaflow_openlineage) if not name.startswith("_")}
    public -= {"TYPE_CHECKING", "Any", "annotations"}
    assert public | {"openlineage", "__version__"} == set(metaflow_openlineage.__all__)


def test_every_module_is_private():
    modules = [module.name for module in pkgutil.iter_modules(metaflow_openlineage.__path__)]
    assert [name for name in modules if not name.startswith("_")] == []


def test_public_names_have_docstrings_and_are_in_the_readme():
    readme = (ROOT / "README.md").read_text()
    for name in {*metaflow_openlineage.__all__} - {"__version__"}:
        assert inspect.getdoc(getattr(metaflow_openlineage, name)), name
        assert re.search(rf"`@?{name}\b", readme), name


def test_version_is_the_package_version():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert metaflow_openlineage.__version__ == project["version"]


@pytest.mark.server
def test_importing_the_package_imports_neither_metaflow_nor_openlineage():
    code = "import metaflow_openlineage, sys; print({'metaflow', 'openlineage'} & {*sys.modules})"
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert shown.stdout.strip() == "set()"


def test_unknown_name_raises_attribute_error():
    with pytest.raises(AttributeError, match="no attribute 'openlinage'"):
        _ = metaflow_openlineage.openlinage


def test_declarations_outside_a_step_return_their_dataset():
    assert reads(TABLE) is TABLE
    assert writes(TABLE) is TABLE
    assert writes(TABLE, column_lineage={"a": [(TABLE, "b")]}).name == "nyc.trips"
    assert artifact("model", flow="Train") == Dataset("metaflow://local", "Train/model")


def test_query_outside_a_step_runs():
    with query("SELECT 1") as running:
        running.outputs.append(TABLE)
    with pytest.raises(LookupError), query("SELECT 1"):
        raise LookupError


def test_iceberg_table_has_snapshot_and_schema(tmp_path):
    catalogs = pytest.importorskip("pyiceberg.catalog.sql", reason="optional dependency")
    pyarrow = pytest.importorskip("pyarrow", reason="optional dependency")
    catalog = catalogs.SqlCatalog(
        "test", uri=f"sqlite:///{tmp_path}/catalog.db", warehouse=f"file://{tmp_path}"
    )
    try:
        catalog.create_namespace("nyc")
        rows = pyarrow.table({"hour": [1, 2, 3]})
        table = catalog.create_table("nyc.trips", schema=rows.schema)
        assert table_read(table, TABLE).version is None
        table.append(rows)
        written = table_written(table, TABLE)
        first = str(table.current_snapshot().snapshot_id)
        assert (written.version, written.rows, written.layer) == (first, 3, "iceberg")
        assert written.fields == (("hour", "long"),)
        table.append(rows)
        assert table_read(table, TABLE, snapshot_id=int(first)).version == first
        assert table_read(table, TABLE).version != first
        with table.update_schema() as update:
            update.update_column("hour", doc="Hour of the ride.")
        assert table_read(table, TABLE).fields == (("hour", "long", "Hour of the ride."),)
    finally:
        catalog.engine.dispose()


def test_invalid_table_is_declared_without_version(capsys, monkeypatch):
    monkeypatch.setattr("metaflow_openlineage._report._warned", False)
    assert table_written(object(), TABLE) == TABLE
    assert "lineage is incomplete" in capsys.readouterr().err


def test_spark_gets_parent_and_root_from_the_environment(monkeypatch):
    monkeypatch.delenv("OPENLINEAGE_PARENT_ID", raising=False)
    assert spark_conf() == {}
    monkeypatch.setenv("OPENLINEAGE_PARENT_ID", f"ns/Flow.step/{RUN}")
    monkeypatch.setenv("OPENLINEAGE_NAMESPACE", "ns")
    conf = spark_conf()
    assert conf["spark.openlineage.parentJobName"] == "Flow.step"
    assert conf["spark.openlineage.rootParentRunId"] == RUN
    assert len(conf) == 7
