"""The tables, files and columns that SQL statements read and write, without running them.

It needs the extra `sql` (sqlglot).
"""
