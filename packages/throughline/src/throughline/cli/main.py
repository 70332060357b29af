"""The commands of `throughline`, in the groups of its help."""

from __future__ import annotations

import typer

from throughline.aliases.commands import alias
from throughline.changes.commands import diff, drift, history, timeline
from throughline.collect.commands import ingest
from throughline.console.groups import COLLECT, COMPARE, OPERATE, QUERY, TRUST, Commands, Version
from throughline.delivery.commands import backends, deliver
from throughline.export.commands import export
from throughline.harvest import commands as harvest
from throughline.keys import commands as keys
from throughline.lineage.commands import columns, impact, path, provenance, tags, tree
from throughline.runs.commands import runs
from throughline.search.commands import search
from throughline.server.commands import repair, serve
from throughline.trust.commands import check, doctor, gate, health
from throughline.wrap.commands import run

app = typer.Typer(
    cls=Commands,
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)
_COMMANDS = {
    COLLECT: (serve, ingest, deliver),
    QUERY: (tree, columns, search, impact, path, provenance, tags, runs),
    COMPARE: (history, timeline, drift, diff),
    TRUST: (gate, check, health, doctor),
    OPERATE: (alias, export, repair),
}
for _group, _members in _COMMANDS.items():
    for _command in _members:
        app.command(rich_help_panel=_group)(_command)
# The options of the command that `run` starts are not ours.
app.command(rich_help_panel=COLLECT, context_settings={"allow_interspersed_args": False})(run)
app.add_typer(backends, name="backends", rich_help_panel=OPERATE)
app.add_typer(harvest.app, name="harvest", rich_help_panel=COLLECT)
app.add_typer(keys.app, name="keys", rich_help_panel=OPERATE)


@app.callback()
def top(_: Version = False) -> None:
    """Collect OpenLineage events and query lineage.

    Example: throughline search taxi
    """
