"""Find nodes by id or by short name.

The *id* of a node is `type:namespace:name`, such as `dataset:postgres://h:5432:db.s.t`; a *short
name* is its name, or the part after a dot, slash or colon. A dataset has several names (*aliases*);
the *primary* one is shown. `dbt build` reports the job `orders` as `orders.build.run`
(`without_build`).
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterator

from headwater import deadline
from headwater.errors import AmbiguousError, NotFoundError
from headwater.events import JobRef
from headwater.events.job_names import without_build
from headwater.graph.current import graph_of
from headwater.graph.levels import Level
from headwater.graph.nodes import Node, node_id
from headwater.graph.placeholders import only_datasets
from headwater.identity import canonical_name
from headwater.partial import PartialState
from headwater.projection import State
from headwater.query.models import NodeType

_NAMED = 5  # datasets in a message
_URI = re.compile(r"([a-z][a-z0-9+.-]*://[^/]+)/(.+)", re.IGNORECASE)
_TYPES: tuple[NodeType, ...] = ("dataset", "job")
_EXPECTED = {
    "dataset": "is a job; expected a dataset. `tree JOB --down` lists what it writes",
    "job": "is a dataset; expected a job. `history DATASET` lists the runs that wrote it",
}


def find_node(state: State, text: str, type_: str | None = None) -> Node:
    """Return the node with an id, or with a short name that matches one node.

    An id may lack its type: NAMESPACE:NAME is enough unless it is both a job and a dataset. So is
    NAMESPACE/NAME, the URI of a dataset, in any spelling of the naming rules. Short
    names match the full name of a job or any alias of a dataset, or else the part after a dot,
    slash or colon. With a type, a node of the other type is returned only if none matches.

    Raises:
        NotFoundError: no node matches; the message suggests similar names.
        AmbiguousError: several nodes match.
    """
    kind, _, rest = text.partition(":")
    if kind in _TYPES and rest:
        node = _by_id(state, kind, rest)
        if node is not None:
            return node
        then = " at that moment" if state.is_past else ""
        raise NotFoundError(f"no node has the id {text!r}{then}", _nearest(state, text))
    kinds = (type_,) if type_ else _TYPES
    found = [node for candidate in kinds if (node := _by_id(state, candidate, text))]
    if len(found) == len(_TYPES):
        raise AmbiguousError(text, "is a job and a dataset", [node_id(node) for node in found])
    return found[0] if found else _by_short_name(state, text, type_)


def find_dataset(state: State, text: str) -> Node:
    """Return the dataset with an id or a short name. Raises NotFoundError if there is none."""
    found = find_node(state, text, "dataset")
    if found.type == "job" and (datasets := _datasets_of(state, found.job_ref)):
        raise NotFoundError(f"{text!r} is a job; expected a dataset. {datasets}")
    return of_type(found, text, "dataset")


def _datasets_of(state: State, ref: JobRef) -> str | None:
    """Return a sentence with the datasets that a job writes, or else reads; None without any."""
    edges = graph_of(state, Level.TASK).edges_of(ref)
    names = sorted(name.name for name in only_datasets(edges.writes or edges.reads))
    listed = ", ".join(names[:_NAMED]) + (" and more" if len(names) > _NAMED else "")
    verb = "writes" if edges.writes else "reads"
    return f"Use a dataset that it {verb}: {listed}" if names else None


def of_type(node: Node, text: str, type_: NodeType) -> Node:
    """Return a node of a type. For the other type, raises NotFoundError with the command to use."""
    if node.type != type_:
        raise NotFoundError(f"{text!r} {_EXPECTED[type_]}")
    return node


def _by_id(state: State, kind: str, rest: str) -> Node | None:
    """Return the node of an id; existing names determine where a namespace with colons ends.

    `kind` is the type and `rest` the id without it. None if there is no such node. Raises
    AmbiguousError if a local name belongs to several datasets.
    """
    uri = _URI.fullmatch(rest) if kind == "dataset" else None
    names = [*_splits(rest), *([(uri[1], uri[2])] if uri else ())]
    for namespace, name in names:
        if kind == "job":
            for spelled in (name, without_build(name)):
                if JobRef(namespace, spelled) in state.jobs:
                    return Node("job", namespace, spelled)
        else:
            found = state.identity.datasets(canonical_name(namespace, name))
            if len(found) > 1:
                ids = [node_id(Node.of_dataset(dataset)) for dataset in found]
                raise AmbiguousError(rest, f"is a local name of {len(ids)} datasets", ids[:10])
            if found:
                return Node.of_dataset(found[0])
    return None


def _splits(text: str) -> Iterator[tuple[str, str]]:
    """Yield what is before and after each colon of a text."""
    at = text.find(":")
    while at >= 0:
        yield text[:at], text[at + 1 :]
        at = text.find(":", at + 1)


def find_field(state: State, text: str) -> tuple[Node, str]:
    """Return the dataset and the field of Marquez's id `datasetField:NAMESPACE:NAME:FIELD`.

    Raises NotFoundError if there is no such dataset; the field is not checked.
    """
    rest = text.removeprefix("datasetField:")
    at = rest.rfind(":")
    while at >= 0:
        if node := _by_id(state, "dataset", rest[:at]):
            return node, rest[at + 1 :]
        at = rest.rfind(":", 0, at)
    raise NotFoundError(f"no dataset has the field {text!r}")


def _by_short_name(state: State, text: str, type_: str | None) -> Node:
    """Return the node that a short name fits. Raises NotFoundError and AmbiguousError.

    A name of `dbt build` also finds the job under the name of other dbt commands. The error about
    several nodes lists the shortest name that is enough for each.
    """
    found = _best_matches(state, text, type_)
    if len(found) == 1:
        return found[0]
    if found:
        names = _unique_names(state, text, found)
        stated = [f"{name} ({node.type})" for name, node in zip(names, found, strict=True)]
        ids = [node_id(node) for node in found]
        reason = f"fits {len(ids)} nodes; use a longer name: {', '.join(stated[:10])}"
        raise AmbiguousError(text, reason, ids[:10])
    if (spelled := without_build(text)) != text:
        return _by_short_name(state, spelled, "job")
    then = " at that moment" if state.is_past else ""
    raise NotFoundError(f"no job or dataset is called {text!r}{then}", _nearest(state, text))


def _best_matches(state: State, text: str, type_: str | None) -> list[Node]:
    """Return the nodes with this name, else those whose name ends with it, else of other types.

    The text may begin with the namespace. With a `type_`, nodes of the other type come last.
    """
    whole, part, other_whole, other_part = (set[Node]() for _ in range(4))
    for name, node in _names_like(state, text):
        is_other = type_ not in (None, node.type)
        if text in (name, f"{node.namespace}{':' if is_other else '/'}{name}"):
            (other_whole if is_other else whole).add(node)
        elif name.endswith(text) and name[-len(text) - 1 : -len(text)] in list("./:"):
            (other_part if is_other else part).add(node)
    if whole and all(node.type == "job" for node in whole):
        whole |= {node for node in part if node.type == "dataset"}  # no job hides a table
    return sorted(whole or part or other_whole or other_part)


def _unique_names(state: State, text: str, nodes: list[Node]) -> list[str]:
    """Return the shortest name of each node that fits no other; its id if there is none.

    Candidates are the ends of its names that begin after a dot, slash or colon. Any name that ends
    with a text fits only nodes that the text fits.
    """
    spelled: dict[Node, list[str]] = {
        node: [alias.name for alias in state.identity.names(node.dataset_name)]
        if node.type == "dataset"
        else [node.name]
        for node in nodes
    }
    fitting: dict[str, set[Node]] = {}
    for node, names in spelled.items():
        for name in names:
            for start in [0, *(mark.end() for mark in re.finditer(r"[./:]", name))]:
                if name[start:].endswith(text):
                    fitting.setdefault(name[start:], set()).add(node)
    unique = {node: [name for name, fits in fitting.items() if fits == {node}] for node in nodes}
    return [min(unique[node], key=lambda n: (len(n), n), default=node_id(node)) for node in nodes]


def _names_like(state: State, text: str) -> Iterator[tuple[str, Node]]:
    """Yield the names that a text may be, or the end of, like `_all_names`, and possibly others.

    A partial state finds them in the log, since it holds only some of the records.
    """
    if not isinstance(state, PartialState):
        yield from _all_names(state)
        return
    jobs, names = state.ending_like(text)
    yield from ((ref.name, Node.of_job(ref)) for ref in jobs)
    for alias in names:
        for primary in state.identity.datasets(alias):
            yield alias.name, Node.of_dataset(primary)


def _all_names(state: State) -> Iterator[tuple[str, Node]]:
    """Yield all names, without namespaces, each with its node. A dataset has one per alias."""
    for ref in state.jobs:
        yield ref.name, Node.of_job(ref)
    for primary in state.identity:
        node = Node.of_dataset(primary)
        for alias in state.identity.names(primary):
            yield alias.name, node


def _nearest(state: State, text: str) -> list[str]:
    """Return up to three names similar to a text, without namespaces, the most similar first.

    Ids, whole names, and the parts after the last dot or slash are compared.
    """
    names: dict[str, str] = {}
    for name, node in _all_names(state):
        for key in (node_id(node), name, *(name.rsplit(mark, 1)[-1] for mark in "./")):
            names.setdefault(key, name)
    close = difflib.get_close_matches(text, deadline.watched(names), n=5, cutoff=0.6)
    return list(dict.fromkeys(names[key] for key in close))[:3]
