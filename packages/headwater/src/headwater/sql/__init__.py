"""Changes of tables in SQL texts, and the interface of the plugin that reads the rest."""
