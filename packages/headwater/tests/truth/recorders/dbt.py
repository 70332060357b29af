"""Record dbt on DuckDB: builds, failing and deferred models, failed batches, incremental runs.

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
_VISITS = (
    "import duckdb; c = duckdb.connect('shop.duckdb'); "
    "c.execute(\"create table visits as select i as id, timestamp '2026-11-26 05:00' + "
    'i * interval 1 day as visited_at from range(3) t(i)")'
)
_OLD_AND_NEW = (
    "import duckdb; c = duckdb.connect('shop.duckdb'); "
    "[c.execute(f'create table {name} as select 1 as id, 2 as amount') for name in ('old', 'new')]"
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
    batches()
    history()


def batches() -> None:
    """Record a batch that failed, and a model whose input is read in another schema."""
    with copied("dbt_batches") as folder:
        case = "dbt-failed-batch"
        run(PACKAGES, ["python", "-c", _VISITS], folder)
        days = ("--event-time-start", "2026-11-26", "--event-time-end", "2026-11-29")
        _dbt(folder, case, "--consume-structured-logs", "build", *days)
        bad = ("--vars", "{bad: true}")
        _dbt(folder, case, "--consume-structured-logs", "build", *days, *bad)
        keep(case, folder / f"{case}.jsonl", folder, _names(case))
    with copied("dbt_batches") as folder:
        case = "dbt-deferred"
        run(PACKAGES, ["python", "-c", _VISITS], folder)
        run(PACKAGES, ["dbt", "run", "--target-path", "prod"], folder)
        defer = ("--target", "ci", "--defer", "--state", "prod", "--select", "visit_count")
        _dbt(folder, case, "run", *defer)
        keep(case, folder / f"{case}.jsonl", folder, _names(case))


def history() -> None:
    """Record incremental models that read another source after their first run."""
    case = "dbt-incremental-history"
    with copied("dbt_history") as folder:
        run(PACKAGES, ["python", "-c", _OLD_AND_NEW], folder)
        _dbt(folder, case, "run")
        for source in ("rejected", "new"):  # the first one does not exist
            for model in folder.glob("models/*.sql"):
                text = model.read_text()
                for former in ("old", "rejected"):
                    text = text.replace(f"'{former}'", f"'{source}'")
                model.write_text(text)
            if source == "rejected":
                _dbt(folder, case, "run", "--select", "appended")
        _dbt(folder, case, "run", "--exclude", "rebuilt")
        _dbt(folder, case, "run", "--full-refresh", "--select", "rebuilt")
        keep(case, folder / f"{case}.jsonl", folder, _names(case))


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
