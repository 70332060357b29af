"""Collect the changes of a pull request to the lineage, and the nodes that they affect.

`headwater check --base` prints it as a comment (`_markdown`). The base is where the branch of the
pull request began. Parts that need a server are missing if it does not respond, which the report
states.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Literal, NamedTuple

from typing_extensions import TypedDict

from headwater.config import parse_yaml
from headwater.console.source import Source
from headwater.errors import ConfigError, LogError, NotFoundError, ServerError, how_to_install
from headwater.plugins.trust._odcs import contract_of
from headwater.plugins.trust._revision import Revision
from headwater.text import counted

if TYPE_CHECKING:
    from headwater.lineage.models import AffectedNode, ImpactAnswer
    from headwater.plugins.trust._contract import Contract
    from headwater.plugins.trust.models import CheckAnswer, GateAnswer
    from headwater.sql.reader import SqlFile

_MOST_NODES = 200
_MOST_BYTES = 1_000_000
_OF_DATASETS = ("dataset", "column", "source")  # kinds of lines
_UNCERTAIN = "statements whose edges the file alone does not determine"
_Line = tuple[str, str, str]  # subject, kind and text
_Node = tuple[Literal["job", "dataset"], str]  # type and name


class Change(TypedDict):
    """A line of a contract, or an edge of an SQL file, that was added or removed."""

    mark: Literal["+", "-"]
    subject: str
    """A job or dataset; of an edge, its target."""
    kind: str
    text: str


class SqlChange(TypedDict):
    """The changes of an SQL file."""

    path: str
    edges: list[Change]
    unread: list[str]
    """Reasons why its statements could not be read."""


class Affected(TypedDict):
    """A node downstream of a change."""

    node: AffectedNode
    changed: list[str]
    """The changed nodes that it depends on."""


class Report(TypedDict):
    """A pull request's changes to the lineage, and the nodes that they affect."""

    base: str
    contract: str
    contractChanges: list[Change]
    sql: list[SqlChange]
    affected: list[Affected] | None
    """None if unknown."""
    unknown: list[str]
    """Changed jobs and datasets that are not in the lineage."""
    check: CheckAnswer | None
    gate: GateAnswer | None
    missing: list[str]
    """Parts that could not be determined, with the reason."""


class Options(NamedTuple):
    """A contract and its content as JSON, the revision to compare with, and further options."""

    contract: Path
    declared: str | None
    base: str
    dialect: str
    policy: str | None


def report_of(options: Options, ask: Source) -> Report:
    """Return the report of the working tree.

    `ask` runs a query on the server or log. Errors of git and of the contract are raised as
    ConfigError.
    """
    revision = Revision(options.contract.resolve().parent, options.base)
    report: Report = {
        "base": revision.commit,
        "contract": str(options.contract),
        "contractChanges": [],
        "sql": [],
        "affected": None,
        "unknown": [],
        "check": None,
        "gate": None,
        "missing": [],
    }
    changed = set(_compare_contract(report, options, revision))
    changed |= set(_compare_sql(report, revision, options.dialect))
    lacking = ["contract check", "downstream nodes", "gates"]
    try:
        if options.declared is not None:
            report["check"] = ask("check", {"contract": options.declared})
        lacking.remove("contract check")
        datasets = _find_affected(report, ask, sorted(changed))
        lacking.remove("downstream nodes")
        if datasets:
            report["gate"] = ask("gate", {"dataset": datasets, "policy": options.policy})
    except (ServerError, LogError) as error:
        report["missing"].append(f"{', '.join(lacking)}: {error}")
    return report


def _compare_contract(report: Report, options: Options, revision: Revision) -> Iterator[_Node]:
    """Add the changes of the contract; yield the changed jobs and datasets.

    Raises ConfigError if the contract is not in the repository, exists neither now nor at the base,
    or is invalid now. One that was invalid at the base is reported as missing.
    """
    file = options.contract
    before: set[_Line] = set()
    try:
        path = file.resolve().relative_to(revision.root.resolve()).as_posix()
    except ValueError:
        raise ConfigError(f"{file}: expected a file in the repository {revision.root}") from None
    report["contract"] = path
    old = revision.text(path)
    if old is None and options.declared is None:
        raise ConfigError(
            f"{file}: file not found, neither here nor at {options.base}; pass the contract's path"
        )
    try:
        if old:
            before = set(_lines(contract_of(parse_yaml(old, path))))
    except ConfigError as error:
        report["missing"].append(f"changes of {file}: invalid at the base: {error}")
        return
    after = set()
    if options.declared is not None:
        after = set(_lines(contract_of(json.loads(options.declared))))
    report["contractChanges"] = _changes(before, after)
    for subject, kind, _ in before ^ after:  # the lines that only one version has
        if kind not in ("covers", "level") and "*" not in subject:
            yield "dataset" if kind in _OF_DATASETS else "job", subject


def _lines(contract: Contract) -> Iterator[_Line]:
    """Yield what a contract declares: subject, kind and text."""
    yield "level", "level", contract.level
    yield from (("covers", "covers", text) for text in contract.covers)
    for name, job in contract.jobs.items():
        yield name, "job", ""
        yield from ((name, "input", text) for text in job.inputs)
        yield from ((name, "output", text) for text in job.outputs)
        for dataset, fields in job.columns.items():
            for field, sources in fields.items():
                yield from (
                    (name, "column edge", f"{dataset}.{field} < {text}") for text in sources
                )
    for name, declared in contract.datasets.items():
        yield name, "dataset", ""
        for field, column in declared.columns.items():
            yield name, "column", f"{field} {column.type or ''}".rstrip()
            yield from ((name, "source", f"{field} < {text}") for text in column.sources or ())


def _changes(before: set[_Line], after: set[_Line]) -> list[Change]:
    return [
        Change(mark="+" if line in after else "-", subject=line[0], kind=line[1], text=line[2])
        for line in sorted(before ^ after)
    ]


def _compare_sql(report: Report, revision: Revision, dialect: str) -> Iterator[_Node]:
    """Add the changes of the SQL files; yield the tables that they write.

    `dialect` is sqlglot's name of the dialect. Without the extra `sql`, the part is reported as
    missing.
    """
    paths = revision.changed("*.sql")
    if not paths:
        return
    from headwater.sql.reader import reader

    sql = reader()
    if sql is None or sql.missing():
        files = counted(len(paths), "changed SQL file")
        report["missing"].append(f"columns of {files}. {how_to_install('sql')}")
        return

    def read(text: str | None, path: str) -> SqlFile:
        return sql.read_file((text or "")[:_MOST_BYTES], Path(path).stem, dialect)

    for path in paths:
        file = revision.root / path
        new_text = file.read_text(errors="replace") if file.is_file() else None
        old, new = read(revision.text(path), path), read(new_text, path)
        # An edge that a partly unread version lacks is not a change: it may be in the unread part.
        unread = [*new.unread]
        if old.uncertain != new.uncertain:
            unread.append(_UNCERTAIN)
        unknown = {"-": new.unread, "+": old.unread}
        changes = _changes({*_edge_lines(old)}, {*_edge_lines(new)})
        edges = [change for change in changes if not unknown[change["mark"]]]
        before = [f"at the base: {error}" for error in old.unread if error not in new.unread]
        report["sql"].append({"path": path, "edges": edges, "unread": [*unread, *before]})
        yield from (("dataset", name) for name in old.targets | new.targets)


def _edge_lines(file: SqlFile) -> Iterator[_Line]:
    return ((edge.target, edge.kind, edge.source) for edge in file.edges)


def _find_affected(report: Report, ask: Source, nodes: Iterable[_Node]) -> list[str]:
    """Add the nodes downstream of changed ones; return the ids of the datasets among both.

    Of the changed nodes, at most 200 are queried. `changed` of an affected node lists those that it
    depends on, and its distance is the least one.
    """
    by_id: dict[str, Affected] = {}
    changed: list[str] = []
    for type_, name in islice(nodes, _MOST_NODES):
        answer = _impact(ask, type_, name)
        if answer is None:
            report["unknown"].append(name)
            continue
        changed.append(answer["node"])
        for node in answer["affected"]:
            affected = by_id.setdefault(node["id"], {"node": node, "changed": []})
            affected["changed"].append(name)
            if node["distance"] < affected["node"]["distance"]:
                affected["node"] = node
    found = sorted(by_id.values(), key=lambda item: (item["node"]["distance"], item["node"]["id"]))
    report["affected"] = found
    ids = dict.fromkeys([*changed, *(item["node"]["id"] for item in found)])
    return [id_ for id_ in ids if id_.startswith("dataset:")][:_MOST_NODES]


def _impact(ask: Source, type_: str, name: str) -> ImpactAnswer | None:
    """Return the nodes that a change affects; None if its name is unknown or ambiguous."""
    answer: ImpactAnswer
    try:
        answer = ask("impact", {"node": name})
    except NotFoundError as error:  # the name may be that of a job and of a dataset
        same = re.compile(rf"{type_}:(.*[.:/])?{re.escape(name)}")
        matching = [id_ for id_ in error.nearest if same.fullmatch(id_)]
        if len(matching) != 1:
            return None
        answer = ask("impact", {"node": matching[0]})
    return answer
