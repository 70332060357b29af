"""The tables and columns that the SQL text of a job reads and writes.

A text may have several statements, which share one session. A text is read once for each set of
known columns; later calls return the same result.

A script may declare variables and have blocks such as IF. Statements in a block may not run, so
what they change has the sources before and after.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import NamedTuple

from sqlglot import TokenType, exp
from sqlglot.dialects.dialect import Dialect
from sqlglot.errors import SqlglotError
from sqlglot.helper import ensure_list

from headwater.plugins.sql._cache import TextCache
from headwater.plugins.sql._definitions import changes_of_text, column_changes, with_changes
from headwater.plugins.sql._session_changes import (
    after_use,
    altered_columns,
    assignment,
    moved_rows,
    swapped_tables,
    table_variables,
)
from headwater.plugins.sql.model import Statement, after
from headwater.plugins.sql.relations import NONE
from headwater.plugins.sql.results import RESULTS, key_of
from headwater.plugins.sql.session import Session, SessionTable, Temporary
from headwater.plugins.sql.statements import read_statements, read_uses
from headwater.plugins.sql.steps import (
    LONGEST,
    Steps,
    UnreadError,
    parse_statement,
    parse_statements,
    reason_of,
)
from headwater.sql.reader import (
    Arguments,
    ColumnChange,
    LocalNames,
    Origins,
    Script,
    Table,
    Unread,
    Written,
)

_QUERY = re.compile(r"(?>(?:\s+|--[^\n]*\n|/\*.*?\*/|\()*)(?:select|with)\b", re.I | re.S)
_COMMENT = r"(?>(?:\s+|--[^\n]*\n|/\*.*?\*/)*)"
_NO_USES = re.compile(
    _COMMENT + r"(?:(?:abort|analy[sz]e|attach|begin|comment|commit|detach|discard|drop|end|grant"
    r"|install|load|lock|optimize|pragma|release|reset|revoke|rollback|savepoint|show|start"
    r"|truncate|use|vacuum)\b|(?:set|declare)\b(?!.*\b(?:select|from)\b)"
    r"|alter\s+(?:table|session|warehouse)\b"
    r"|create\b(?:(?!\b(?:on|as|for)\b)[^(;])*?"
    r"\b(?:table|schema|database|sequence|extension|role)\b)",
    re.I | re.S,
)
"""Statements that read and write no rows, or only remove all of them."""

_MAY_NAME_COLUMNS = re.compile(
    _COMMENT + r"(?:(?:analy[sz]e|vacuum)\b(?:\s*\([^)]*\))?+|(?:comment|grant|optimize|revoke"
    r"|truncate)\b|alter\s+table\b(?!\s+(?:if\s+exists\s+)?\S+\s+add\s+column\b"
    r"(?!.*\b(?:as|check|references)\b)|.*?\bset\s+(?:options|tags?|tblproperties)\b)"
    r"|create\b[^(;]*?\btable\b(?=.*\breferences\b))"
    r"(?=.*(?:\(|\b(?:by|columns?|where)\b))",
    re.I | re.S,
)
"""Statements of `_NO_USES` that may name columns of existing tables, such as OPTIMIZE ZORDER BY."""

_VARIABLES = re.compile(_COMMENT + r"(?:declare|set)\b", re.I)
_BLOCK = re.compile(
    _COMMENT + r"(?:begin\b(?!\s*(?:tran|work|isolation|read|deferred|immediate|exclusive|not|$))"
    r"|else\b|(?:else?\s*)?if\b.*?\bthen\b|loop\b|repeat\b|(?:while|for)\b.*?\bdo\b)",
    re.I | re.S,
)
"""The beginnings of the blocks of a script, of which each may have a statement behind it."""
_OPENING = "begin", "if", "loop", "repeat", "while", "for"
"""The first words of blocks that have an END."""
_END = re.compile(_COMMENT + r"(?:end\b|until\b.*\bend\s+repeat\b)", re.I | re.S)

_NO_COLUMNS = frozenset[tuple[Table, str]]()
_SELECT = re.compile(r"\bselect\b", re.I)
_WORD = re.compile(_COMMENT + r"(\w+)")
_UNNAMED = exp.Subquery, exp.Values, exp.Unnest, exp.Lateral, exp.TableFromRows
"""Expressions that FROM may read besides tables and functions."""
_CALLED = re.compile(r"(\w+)\s*\(")
_MAY_HAVE_LOCAL = re.compile(r"\bwith\b|\btemp(?:orary)?\b|\(", re.I)


def read_script(text: str, arguments: Arguments) -> Script | Unread:
    """Return what one or more statements read and write, or why one cannot be read.

    Two caches are tried first: of results in this process, and of packed ones (`results`), which
    also have those that the background reader stored.
    """

    def read() -> Script | Unread:
        key = key_of(text, arguments)
        return RESULTS.get(key, lambda: read_uncached(text, arguments))

    return _SCRIPTS.get(text, arguments, read)


def read_uncached(text: str, arguments: Arguments) -> Script | Unread:
    """Read a text like `read_script`, without its caches.

    The limits are those of `steps`: the length of the text, and the steps to read it.
    """
    dialect, database, schema, target, known, reported, stated = arguments
    if len(text) > LONGEST:
        return Unread(f"it has more than {LONGEST:,} characters")
    columns = {table: dict.fromkeys(names, "") for table, names in (*stated, *known)}
    try:
        steps = Steps()
        parts = list(statements_of(text, dialect, steps))
        session = Session(
            database,
            "",
            columns,
            {},
            dialect,
            schema,
            reported=reported,
            fixed=frozenset(table for table, _ in known),
            stated=frozenset(table for table, _ in stated),
            steps=steps,
        )
        target = target if len(parts) == 1 else None
        found = list(read_parts(parts, target, session))
    except (SqlglotError, UnreadError, RecursionError) as error:
        # sqlglot's message: without the part of the text that it got instead
        return Unread(reason_of(error).partition(" but got ")[0])
    read = [statement for part in found for statement in part.statements]
    skipped = tuple(word for part in found for word in part.skipped)
    is_complete = all(part.is_complete for part in found) and not skipped
    written: dict[Table, list[Statement]] = {}
    passed, read_first = set[Table](), set[Table]()  # read after a write; read before any
    for part in found:
        for statement in part.statements:
            passed |= written.keys() & statement.tables
            read_first |= {*statement.tables} - written.keys()
            if statement.target is not None and not statement.temporary:
                written.setdefault(statement.target, []).append(statement)
        if part.swapped:
            written |= _after_swap(written, *part.swapped)
    return Script(
        tuple((table, _merged(writes)) for table, writes in written.items()),
        _NO_COLUMNS.union(*(item.used for item in read), *(part.used for part in found)),
        is_complete and not any(item.has_unknown_uses for item in read),
        {name: own for item in reversed(read) for name, own in item.spellings.items()},
        skipped,
        frozenset(passed),
        frozenset(passed - read_first),
        changes_of_text(text, (part.changes for part in found), has_skipped=bool(skipped)),
    )


def local_names(text: str, dialect: str) -> LocalNames:
    """Return the names of a text's common table expressions, functions and temporary tables.

    A name that is also read or written as a table, such as in `WITH t AS (SELECT * FROM t)`, is
    not among them. Nor is any name of a text that cannot be parsed.
    """
    if len(text) > LONGEST or not _MAY_HAVE_LOCAL.search(text):
        return LocalNames()
    return _LOCAL_NAMES.get(text, dialect, lambda: _local_names(text, dialect))


def _local_names(text: str, dialect: str) -> LocalNames:
    """Return the local names of a text like `local_names`, without the cache."""
    try:
        parsed = parse_statements(text, dialect, Steps())
    except (SqlglotError, UnreadError, RecursionError):
        return LocalNames()
    local: set[str] = set()
    aliases: set[str] = set()
    temporary: set[str] = set()
    tables: set[tuple[str, ...]] = set()
    for statement in parsed:
        local |= {cte.alias.lower() for cte in statement.find_all(exp.CTE)}
        for item in statement.find_all(*_UNNAMED):  # BigQuery's UNNEST has the alias of a column
            aliases |= {name.lower() for name in (item.alias, *item.alias_column_names)}
        created = _temporary_table(statement)
        for table in statement.find_all(exp.Table):
            if isinstance(table.this, exp.Func):
                aliases.add(table.alias.lower())
                local |= {name.lower() for name in _CALLED.findall(text)}
                continue
            is_local = table is created or table.name.lower() in temporary or _is_cte(table)
            if table.db or not is_local:
                tables.add(tuple(part.name.lower() for part in table.parts))
        if created is not None:
            temporary.add(created.name.lower())
    names = {table[-1] for table in tables}
    temporary -= names
    same = frozenset(table for table in tables if table[-1] in local)
    unnamed = frozenset(aliases - names - {""})
    return LocalNames(frozenset(local - names | temporary), frozenset(temporary), same, unnamed)


def _temporary_table(statement: exp.Expr) -> exp.Table | None:
    """Return the temporary table that a statement creates."""
    if not isinstance(statement, exp.Create) or not statement.find(exp.TemporaryProperty):
        return None
    target = statement.this.this if isinstance(statement.this, exp.Schema) else statement.this
    return target if isinstance(target, exp.Table) else None


def _is_cte(table: exp.Table) -> bool:
    """Return True if a name without a schema refers to a common table expression around it.

    Inside its own definition, the name of one that is not recursive refers to a table.
    """
    node: exp.Expr | None = table
    inside: exp.Expr = table
    while node is not None:
        with_ = node.args.get("with_")
        for cte in with_.expressions if with_ else ():
            is_own = cte is inside
            if is_own and with_ is not None and not with_.args.get("recursive"):
                break
            if cte.alias.lower() == table.name.lower():
                return True
            if is_own:
                break
        if isinstance(node, exp.CTE):
            inside = node
        node = node.parent
    return False


def statements_of(text: str, dialect: str, steps: Steps) -> Iterator[str]:
    """Yield the statements that are not empty, and keep the tokens of the first one.

    Raises:
        UnreadError: the text has placeholders of a template outside strings and comments.
    """
    start, before, is_empty = 0, None, True
    tokens = Dialect.get_or_raise(dialect).tokenize(text)
    for index, token in enumerate(tokens):
        kind = token.token_type
        if kind is TokenType.BLOCK_START or (kind is TokenType.L_BRACE and before in ("{", "$")):
            raise UnreadError("it is a template")
        before = token.text
        if kind is not TokenType.SEMICOLON:
            is_empty = False
            continue
        if not is_empty:
            if not start:  # the positions of later tokens are not those in their statement
                steps.tokens[text[: token.start]] = tokens[:index]
            yield text[start : token.start]
        start, is_empty = token.end + 1, True
    if not is_empty:
        if not start:
            steps.tokens[text] = tokens
        yield text[start:]


def _after_swap(
    written: dict[Table, list[Statement]], first: Table, second: Table
) -> dict[Table, list[Statement]]:
    """Return the statements that wrote the rows of two tables after these exchanged them.

    A table that the script did not write before gives its rows to the other one, column by column.
    """
    pairs = ((first, second), (second, first))
    if not written.keys() & {first, second}:
        return {}
    return {
        target: [replace(item, target=target) for item in written.get(source, ())]
        or [Statement("swap", "", target, tables=[source], has_all_columns=False)]
        for target, source in pairs
    }


class Part(NamedTuple):
    """A statement of a script, with its reads and writes by table that it writes."""

    sql: str
    """The statement without the beginnings of blocks before it."""
    statements: list[Statement]
    is_complete: bool
    """True if all columns that it uses are known."""
    skipped: list[str]
    """The first words of the statement if its effect is unknown."""
    session: Session
    """The session in which it runs."""
    used: frozenset[tuple[Table, str]]
    """The columns that it names besides those of `statements`."""
    swapped: tuple[Table, Table] | None
    """The tables that exchange their rows."""
    changes: list[ColumnChange]
    """The changes of the columns of tables."""


def read_parts(parts: Iterable[str], target: Table | None, session: Session) -> Iterator[Part]:
    """Yield what each statement of a session reads and writes; `target` is that of a query alone.

    Raises:
        UnreadError: a statement cannot be read.
    """
    blocks: list[str] = []
    for part in parts:
        sql, condition, opened = _without_blocks(part)
        blocks = blocks[:-1] if _END.match(sql) else [*blocks, *opened]
        is_certain = all(block == "begin" for block in blocks)  # others may not run
        session = after_use(sql, session)
        sql = assignment(sql, session.dialect)
        variables: Temporary = {}
        if _VARIABLES.match(sql):
            variables, statements = _set(sql, session)
        else:
            statements = _read(sql, target, session)
        swapped = None if statements else swapped_tables(sql, session)
        altered = None if statements else altered_columns(sql, session)
        is_read = variables or statements or swapped or altered is not None
        skipped = [] if is_read else list(_skipped(sql))
        is_complete = bool(statements) or altered is not None or not _MAY_NAME_COLUMNS.match(sql)
        is_complete &= not _SELECT.search(condition)
        used = altered or _NO_COLUMNS
        changes = column_changes(sql, statements, session, is_certain=is_certain)
        yield Part(sql, statements, is_complete, skipped, session, used, swapped, changes)
        session = with_changes(session, changes)
        session = _after(session, statements, variables, is_certain=is_certain)


def _after(
    session: Session,
    statements: list[Statement],
    variables: Temporary,
    *,
    is_certain: bool,
) -> Session:
    """Return the session after a statement, which may not have run if it is not certain.

    Raises:
        UnreadError: it reads a temporary table whose contents are unknown.
    """
    for statement in statements:
        if statement.unknown:
            raise UnreadError(f"the temporary table {statement.unknown[0]} is unknown")
        temporary = after(session.temporary, statement)
        if not is_certain:
            temporary = _either(session.temporary, temporary)
        session = replace(session, temporary=temporary)
    if not is_certain:
        variables = _either(session.variables, variables)
    return replace(session, variables={**session.variables, **variables})


def _skipped(sql: str) -> Iterator[str]:
    """Yield the first words of a statement that may move rows and is not read."""
    if moved := moved_rows(sql):
        yield moved
    elif not _NO_USES.match(sql) and (word := _WORD.match(sql)):
        yield word[1].upper()


def _without_blocks(sql: str) -> tuple[str, str, list[str]]:
    """Return a statement without the BEGIN, IF, ELSE or LOOP before it, and what was removed.

    The latter is a text, and the words in it that open a block with an END of its own.

    Raises:
        UnreadError: a loop assigns the rows of a query to a variable.
    """
    start = 0
    opened: list[str] = []
    while found := _BLOCK.match(sql, start):
        word = _WORD.match(sql, start)
        if word and word[1].lower() in _OPENING:
            opened.append(word[1].lower())
        start = found.end()
    if "for" in opened and _SELECT.search(sql, 0, start):
        raise UnreadError("a loop over the rows of a query is not supported")
    return sql[start:], sql[:start], opened


def _either(first: Temporary, second: Temporary) -> dict[str, SessionTable]:
    """Return the tables or variables of a session after a statement that may not have run.

    Those of both cases, before and after the statement, have the sources of both.

    `first` are those before the statement, and `second` those after it.
    """
    merged = {
        name: first[name].with_rows(dict(table.columns), table.rows, table.tables, table.files)
        for name, table in second.items()
        if name in first
    }
    return {**first, **second, **merged}


def _read(sql: str, target: Table | None, session: Session) -> list[Statement]:
    """Return what a statement reads and writes.

    A query alone defines `target`, as a dbt model does; without a target, it only uses what it
    reads.
    """
    found = read_statements(sql, session)
    if not found and _QUERY.match(sql):
        if target is None:
            return [read_uses(sql, session)]
        name = ".".join(f'"{part}"' for part in target if part)
        quoted = exp.to_table(name).sql(session.dialect)
        return read_statements(f"create view {quoted} as {sql}", session)
    return found


def _set(sql: str, session: Session) -> tuple[dict[str, SessionTable], list[Statement]]:
    """Return the sources of the variables that DECLARE or SET defines, and the queries in it.

    The sources are by lower-case name, as `Session.spell` writes names. A variable with a constant
    value has an entry without sources, which replaces those of its former value. A statement of
    another form defines none.
    """
    found: dict[str, SessionTable] = {}
    read: list[Statement] = []
    try:
        parsed = parse_statement(sql, session.dialect, session.steps)
    except SqlglotError:
        if _NO_USES.match(sql):  # a declaration without a query
            return {}, []
        raise
    for table in table_variables(parsed):
        read += read_statements(table.sql(session.dialect), session)
    for item in parsed.find_all(exp.DeclareItem, exp.SetItem):
        names, value = item.this, item.args.get("default")
        if isinstance(item.this, exp.EQ):
            names, value = item.this.left, item.this.right
            names = names.expressions if isinstance(names, exp.Tuple) else names
        sources = SessionTable()
        if isinstance(value, exp.Expr) and _has_sources(value, session):
            query = exp.select(exp.alias_(value.copy(), "_value")).sql(session.dialect)
            (statement,) = read_statements(f"create temporary table _value as {query}", session)
            sources = after({}, statement)["_value"]
            read.append(replace(statement, temporary=(), target=None, spellings={}))
        named = (name.name.lower() for name in ensure_list(names) if isinstance(name, exp.Expr))
        found |= dict.fromkeys(named, sources)
    return found, read


def _has_sources(value: exp.Expr, session: Session) -> bool:
    """Return True if a value has a query or names a variable."""
    return any(
        isinstance(node, exp.Select) or node.name.lower() in session.variables
        for node in value.find_all(exp.Select, exp.Column, exp.Parameter, exp.Placeholder)
    )


def _merged(statements: list[Statement]) -> Written:
    """Return the writes of several statements to one table as one write."""
    columns: dict[str, Origins] = {}
    for statement in statements:
        for name, origins in statement.columns.items():
            columns[name] = columns.get(name, NONE) | origins
    return Written(
        frozenset(table for statement in statements for table in statement.tables),
        tuple(columns.items()),
        NONE.union(*(statement.indirect | statement.unnamed for statement in statements)),
        all(statement.has_all_columns for statement in statements),
        any(statement.has_unknown_columns for statement in statements),
        frozenset(name for statement in statements for name in statement.unplaced),
    )


_BYTES = 150
"""Approximate memory of an origin or a name."""


def _size_of(script: Script | Unread, others: Arguments) -> int:
    """Return the estimated bytes of a cached result and of its arguments."""
    known = sum(len(names) for _, names in others.known)
    if isinstance(script, Unread):
        return _BYTES * (10 + known)
    origins = (
        len(found)
        for _, written in script.written
        for found in (*(origins for _, origins in written.columns), written.rows, written.sources)
    )
    return _BYTES * (10 + known + sum(origins) + len(script.used) + len(script.spellings))


_SCRIPTS: TextCache[Arguments, Script | Unread] = TextCache(32_000_000, _size_of)
_LOCAL_NAMES: TextCache[str, LocalNames] = TextCache(
    8_000_000, lambda local, _: _BYTES * (4 + len(local.names) + len(local.aliases))
)
