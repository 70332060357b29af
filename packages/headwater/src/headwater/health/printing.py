"""Print the state of a node."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.text import Text

from headwater.console.render import age_of, moment_of
from headwater.text import REMOVED_MODEL

if TYPE_CHECKING:
    from headwater.health.models import HealthState, NodeHealth

_STYLES: dict[HealthState, str] = {
    "failed": "red",
    "failed_checks": "red",
    "blocked": "red",
    "late": "yellow",
    "healthy": "green",
    "streaming": "green",
}
_UNREMARKABLE = ("healthy", "unknown", "streaming", "ad_hoc")


def label_of(state: HealthState) -> str:
    """Return the label of a state."""
    return state.replace("_", " ").capitalize()


def health_line(health: NodeHealth) -> Text:
    """Return a state with its reason and time; of a stream, with the age of its last event."""
    text = Text(label_of(health["state"]), _STYLES.get(health["state"], "dim"))
    if health["state"] == "streaming" and health["at"]:
        return text.append(f", {health['message']} {age_of(health['at'])} ago", "default")
    text.append(f"  {health['message']}")
    return text.append(f"  {moment_of(health['at'])}" if health["at"] else "", "dim")


def health_mark(health: NodeHealth) -> Text:
    """Return a state that needs attention, after two spaces; nothing for any other.

    That a model was removed from its dbt project is mentioned, too.
    """
    if health["message"].startswith(REMOVED_MODEL):
        return Text(f"  {health['message']}", "dim")
    if health["state"] in _UNREMARKABLE:
        return Text()
    return Text(f"  {label_of(health['state'])}", _STYLES[health["state"]])
