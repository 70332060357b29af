"""Print what the server answers about events, in the notation of `truth.yaml`.

    .venv/bin/python packages/headwater/tests/truth/draft.py events.jsonl

The draft saves typing. Compare every line with the code that the producer ran before it becomes
the truth of a case.
"""

from __future__ import annotations

import sys
import tempfile
from collections import defaultdict
from pathlib import Path
from typing import Any

from headwater.log import EventLog, entry_of
from headwater.projection.live import Batch, Live
from headwater.query.registry import ask, load_queries


def main() -> None:
    """Print the edges at all levels, the column edges and the findings."""
    with tempfile.TemporaryDirectory() as folder:
        log = EventLog(f"sqlite:///{folder}/log.db")
        live = Live(log)
        lines = Path(sys.argv[1]).read_bytes().splitlines()
        live.ingest(Batch([entry_of(line) for line in lines if line.strip()]))

        def answer(name: str, **parameters: Any) -> Any:
            return ask(live, load_queries()[name], parameters)

        datasets: set[str] = set()
        for level in ("pipeline", "task", "query"):
            sides: dict[str, tuple[list[str], list[str]]] = defaultdict(lambda: ([], []))
            for row in answer("edges", level=level, limit=10_000)["items"]:
                sides[row["job"]["name"]][row["direction"] == "writes"].append(
                    row["dataset"]["name"]
                )
                datasets.add(f"dataset:{row['dataset']['namespace']}:{row['dataset']['name']}")
            _print(f"{'queries' if level == 'query' else level + 's'}:")
            for job, (reads, writes) in sorted(sides.items()):
                _print(f'  - "{job}: {", ".join(reads)} -> {", ".join(writes)}"')
        _print("columns:")
        for dataset in sorted(datasets):
            top = answer("columns", node=dataset, depth=1, indirect=True)["up"]
            for column in top["children"]:
                for source in column["children"]:
                    arrow = "<-" if source["isDirect"] else "<~"
                    target = f"{column['name']}.{column['field'] or '*'}"
                    _print(f"  - {target} {arrow} {source['name']}.{source['field'] or '*'}")
        findings = answer("findings", limit=1_000)["items"]
        _print(f"findings: {[(item['kind'], item['subject']) for item in findings]}")
        log.close()


def _print(line: str) -> None:
    sys.stdout.write(f"{line}\n")


if __name__ == "__main__":
    main()
