"""Report functions with the decorator of headwater."""

import os
from pathlib import Path

from headwater_client import lineage

FOLDER = Path(os.environ["SHOP"])


def _file(path: str) -> list[tuple[str, str]]:
    return [("file", path)]


@lineage(
    inputs=_file,
    outputs=[("postgres://headwater-producers.example.org:5432", "shop.public.zones")],
    namespace="headwater-producers",
    job="load_zones",
)
def load_zones(path: str) -> int:
    """Load the zones."""
    return len(Path(path).read_text())


@lineage(
    inputs=[("postgres://headwater-producers.example.org:5432", "shop.public.zones")],
    outputs=[("postgres://headwater-producers.example.org:5432", "shop.public.zone_totals")],
    namespace="headwater-producers",
    job="count_zones",
)
def count_zones() -> None:
    """Fail to count the zones."""
    raise ValueError("no zones")


load_zones(str(FOLDER / "zones.csv"))
count_zones()
