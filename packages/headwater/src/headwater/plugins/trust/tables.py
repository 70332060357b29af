"""The table of muted and acknowledged findings.

`id` identifies a finding by its kind and subject, `fingerprint` its content.
"""

from __future__ import annotations

import sqlalchemy as sa

from headwater.log.schema import String, Text

metadata = sa.MetaData()
finding_states = sa.Table(
    "finding_states",
    metadata,
    sa.Column("id", String(64), primary_key=True),
    sa.Column("kind", String(64), nullable=False),
    sa.Column("subject", Text, nullable=False),
    sa.Column("state", String(16), nullable=False),
    sa.Column("fingerprint", String(64), nullable=False),
    sa.Column("until", sa.BigInteger),
    sa.Column("note", Text),
    sa.Column("changed_at", sa.BigInteger, nullable=False),
)
