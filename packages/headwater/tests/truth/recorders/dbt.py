"""Record dbt on DuckDB: a build, a failing model with skipped ones, an incremental run.

The events are those of dbt-ol, and of one build those that `headwater harvest dbt` creates.
"""

from __future__ import annotations

import sys
from contextlib import closing
from pathlib import Path

from headwater.log import EventLog

from .recording import copied, file_transport, keep, run

PACKAGES = [
    "dbt-core==1.11.16",
    "dbt-duckdb==1.11.1",
    "openlineage-dbt==1.54.0",
    "duckdb==2.0.1",
    "pandas==3.1.1",
]
_SOURCE = (
    "import duckdb; c = duckdb.connect('shop.duckdb'); "
    'c.execute("create table fx_rates as select cast(x as date) as day, 1.1 as rate '
    "from (values ('2026-01-01'), ('2026-01-03')) t(x)\")"
)


def main() -> None:
    """Record all cases of dbt."""
    with copied("dbt") as folder:
        prepare(folder)
        _dbt(folder, "dbt-build", "build")
        keep("dbt-build", folder / "dbt-build.jsonl", folder, _names("dbt-build"))
        _dbt(folder, "dbt-incremental", "run", "--select", "payments_inc")
        keep("dbt-incremental", folder / "dbt-incremental.jsonl", folder, _names("dbt-incremental"))
    with copied("dbt") as folder:
        prepare(folder)
        case, nodes = (
            "dbt-failed-model",
            "stg_customers stg_orders stg_payments orders customers top_customers",
        )
        run(PACKAGES, ["dbt", "seed"], folder)
        _dbt(folder, case, "run", "--select", *nodes)
        model = folder / "models/marts/orders.sql"
        model.write_text(model.read_text().replace("p.total_amount as", "p.total as"))
        _dbt(folder, case, "run", "--select", *nodes)
        keep(case, folder / f"{case}.jsonl", folder, _names(case))
    harvested()


def harvested() -> None:
    """Record the import of a build whose catalog was generated."""
    case = "dbt-harvest"
    with copied("dbt") as folder:
        prepare(folder)
        run(PACKAGES, ["dbt", "build"], folder)
        run(PACKAGES, ["dbt", "docs", "generate", "--no-compile"], folder)
        database = folder / "log.db"
        program = Path(sys.executable).with_name("headwater")
        command: list[str | Path] = [program, "harvest", "dbt", folder, "--yes"]
        command += ["--profiles-dir", folder, "--namespace", case, "--database", database]
        run([], command, folder, {"HEADWATER_HARVESTS": str(folder / "harvests")})
        with closing(EventLog(str(database), must_exist=True)) as log:
            events = [body for _, body in log.read()]
        (folder / "events.jsonl").write_text("\n".join(events))
        keep(case, folder / "events.jsonl", folder, _names(case) | {"/srv/shop/": f"/srv/{case}/"})


def prepare(folder: Path) -> None:
    """Create the source table of the project."""
    run(PACKAGES, ["python", "-c", _SOURCE], folder)


def _dbt(folder: Path, case: str, *command: str) -> None:
    settings = {
        "OPENLINEAGE__TRANSPORT": file_transport(folder / f"{case}.jsonl"),
        "OPENLINEAGE_NAMESPACE": case,
        "DBT_SEND_ANONYMOUS_USAGE_STATS": "false",
    }
    run(PACKAGES, ["dbt-ol", *command], folder, settings, may_fail=True)


def _names(case: str) -> dict[str, str]:
    """Return the renames that make a case's warehouse its own."""
    return {"duckdb://shop.duckdb": f"duckdb://{case}.duckdb"}
