"""The table of alerts: the causes for which rules fired."""

from __future__ import annotations

import sqlalchemy as sa

from headwater.log.schema import String, Text

metadata = sa.MetaData()
alerts = sa.Table(
    "alerts",
    metadata,
    sa.Column("rule", String(64), primary_key=True),
    sa.Column("cause", Text, primary_key=True),
    sa.Column("body", Text, nullable=False),
    sa.Column("fired_at", sa.BigInteger, nullable=False),
    sa.Column("pending", Text, nullable=False),
    sa.Column("error", Text),
)
