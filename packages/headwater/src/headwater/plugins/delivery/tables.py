"""The tables of deliveries: the cursor of each backend, and the events that it rejected."""

from __future__ import annotations

import sqlalchemy as sa

from headwater.log.schema import String, Text

metadata = sa.MetaData()
deliveries = sa.Table(
    "deliveries",
    metadata,
    sa.Column("backend", String(64), primary_key=True),
    sa.Column("seq", sa.BigInteger, nullable=False),
    sa.Column("moved_at", sa.BigInteger),
    sa.Column("error", Text),
    sa.Column("error_at", sa.BigInteger),
)

dead_letters = sa.Table(
    "dead_letters",
    metadata,
    sa.Column("backend", String(64), primary_key=True),
    sa.Column("seq", sa.BigInteger, primary_key=True, autoincrement=False),
    sa.Column("reason", Text, nullable=False),
    sa.Column("refused_at", sa.BigInteger, nullable=False),
    sa.Column("is_retried", sa.Boolean, nullable=False),
)
