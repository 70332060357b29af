"""SQL texts: the changes of tables that they state, and the reader of the rest (a plugin)."""
