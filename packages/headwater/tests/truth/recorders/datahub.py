"""Record what DataHub exports about a dbt project: its dbt source with its file sink.

The export is kept for `test_harvest_catalogs.py`, because the import is what that test examines.
"""

from __future__ import annotations

import json
import lzma
from pathlib import Path

from .dbt import PACKAGES, prepare
from .recording import HERE, copied, run

_EXPORT = HERE.parents[1] / "datahub_dbt_export.json.xz"
_RECIPE = {
    "source": {
        "type": "dbt",
        "config": {
            "manifest_path": "target/manifest.json",
            "catalog_path": "target/catalog.json",
            "target_platform": "duckdb",
            "include_column_lineage": True,
            "write_semantics": "OVERRIDE",
        },
    },
    "sink": {"type": "file", "config": {"filename": "export.json"}},
}


def main() -> None:
    """Record the export of a dbt project after a build."""
    with copied("dbt") as folder:
        prepare(folder)
        run(PACKAGES, ["dbt", "build"], folder)
        run(PACKAGES, ["dbt", "docs", "generate", "--no-compile"], folder)
        (folder / "recipe.json").write_text(json.dumps(_RECIPE))
        datahub = ["acryl-datahub[dbt]==1.7.0.17"]
        run(datahub, ["datahub", "ingest", "-c", "recipe.json"], folder)
        _keep(folder / "export.json", folder)


def _keep(export: Path, folder: Path) -> None:
    text = export.read_text().replace(str(folder), "/srv/shop")
    body = json.dumps(json.loads(text), separators=(",", ":"))
    _EXPORT.write_bytes(lzma.compress(body.encode(), preset=9))
