"""Texts that keep the earlier rows of a table, and texts that replace them."""

from __future__ import annotations

import pytest

from headwater.sql.row_changes import keeps_rows

_KEEPING = """
insert into t select 1
INSERT INTO "s".[T] (a) VALUES ('x; delete from t')
insert t (a) select 1
insert or replace into t select 1
replace into t select 1
with x as (select 1) insert into t select * from x
insert all into t values (1) into u values (2) select 1
from s insert overwrite table u select 1 insert into table t select 2
insert into t replace where day = 1 select 2
insert overwrite table t partition (day = '1') select 1
insert overwrite t (a, b) partition (day) select 1, 2
delete from t where day = '1'; insert into t select 1
delete x from s.t as x where a = 0
update t set a = 1
update x set a = 1 from s.t as x join u on true
merge into t using s on a when matched then update set x = 1
merge t as x using s on a when not matched by source and b then delete when matched then update *
merge into t using s on a when not matched by source then delete when not matched then insert *
create table if not exists t (a int); insert into t select 1
create table if not exists t as select 1
copy t (a, b) from 's3://bucket/file' iam_role 'role'
copy into s.t from @stage
load data inpath 'x' into table t
load data inpath 'x' overwrite into table t partition (a = 1)
alter table t append from s
truncate table t partition (p1); insert into t select 1
if x then truncate table t; end if; insert into t select 1
insert into t select 1; rollback to savepoint a; insert into t select 2
"""
_REPLACING = """
delete from t; insert into t select 1
delete from t where 1 = 1; insert into t select 1
begin; delete from t where true; insert into t select 1; commit
begin transaction delete from s.t insert into s.t select 1
truncate table u, t; insert into t select 1
truncate table t insert into t select row_number() over (partition by a) from s
insert into t select 1; drop table if exists u, t
create table t (a int); insert into t select 1
create or replace table t as select 1
create table t as select 1; insert into t select 2
select a into t from s; insert into t select 2
insert overwrite into t select 1
insert overwrite table t select 1; insert into t select 2
insert overwrite all into t values (1) select 1
load data inpath 'x' overwrite into table t
merge into t using s on a when matched then update * when not matched by source then delete
insert into w select 1; alter table t swap with w
insert into w select 1; drop table t; alter table w rename to t
"""
_UNKNOWN = """
select * from t
insert into u select * from t
insert into t select 1; rollback
insert into {{ t }} select 1 from t
create function f() as $$ insert into t select 1 $$
copy into 's3://bucket' from t
copy t to '/tmp/file'
-- insert into t select 1
select 'insert into t select 1'
"""


@pytest.mark.parametrize("text", _KEEPING.strip().splitlines())
def test_text_that_adds_or_changes_rows_keeps_the_others(text: str) -> None:
    assert keeps_rows(text, "db.s.T") is True


@pytest.mark.parametrize("text", _REPLACING.strip().splitlines())
def test_text_with_a_statement_that_replaces_all_rows_keeps_none(text: str) -> None:
    assert keeps_rows(text, "db.s.T") is False


@pytest.mark.parametrize("text", _UNKNOWN.strip().splitlines())
def test_text_that_is_not_known_to_write_the_table_decides_nothing(text: str) -> None:
    assert keeps_rows(text, "db.s.T") is None


def test_table_of_a_path_is_its_last_part() -> None:
    assert keeps_rows("insert into db.t select 1", "warehouse/db/t/") is True


@pytest.mark.parametrize(
    "part", ["create table if not exists x ", "update a ", "load data ", "merge into x ", "x . "]
)
def test_long_text_is_read_in_linear_time(part: str) -> None:
    """A quadratic search would need minutes."""
    assert keeps_rows("insert into t select 1; " + part * (90_000 // len(part)), "t") is True
