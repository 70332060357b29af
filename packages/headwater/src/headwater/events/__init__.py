"""Parse and validate OpenLineage events into immutable values."""

from headwater.events._canonical import canonical, dump, identity_of
from headwater.events._event import (
    AliasEvent,
    Dataset,
    DatasetEvent,
    Event,
    EventType,
    Facets,
    JobEvent,
    JobRef,
    Json,
    Logged,
    Relation,
    RunEvent,
)
from headwater.events._explicit_lineage import DatasetId, Entry, parse_derivation, parse_entries
from headwater.events._limits import check_limits
from headwater.events._parse import (
    kind_of,
    load,
    load_plain,
    parse_alias,
    parse_event,
    run_id_of,
    with_parent,
)
from headwater.events._sql_datasets import (
    ONLY_IN_TEXT,
    change_of,
)
from headwater.events._times import (
    from_micros,
    parse_time,
    shown_time,
    to_micros,
    without_region,
)
from headwater.events.column_lineage import (
    EVERY_ROW,
    UNKNOWN_COLUMN,
    ColumnLineage,
    ColumnLink,
    Evidence,
    Legacy,
    Transformation,
    parse_columns,
    source_datasets,
)
from headwater.events.column_reporting import reports_indirect

__all__ = [
    "ONLY_IN_TEXT",
    "EVERY_ROW",
    "UNKNOWN_COLUMN",
    "AliasEvent",
    "ColumnLineage",
    "ColumnLink",
    "Evidence",
    "Dataset",
    "DatasetEvent",
    "DatasetId",
    "Entry",
    "Event",
    "EventType",
    "Facets",
    "JobEvent",
    "JobRef",
    "Json",
    "Legacy",
    "Logged",
    "Relation",
    "RunEvent",
    "Transformation",
    "canonical",
    "check_limits",
    "dump",
    "from_micros",
    "identity_of",
    "kind_of",
    "load",
    "load_plain",
    "parse_alias",
    "parse_columns",
    "parse_derivation",
    "parse_entries",
    "parse_event",
    "parse_time",
    "reports_indirect",
    "run_id_of",
    "shown_time",
    "source_datasets",
    "change_of",
    "to_micros",
    "with_parent",
    "without_region",
]
