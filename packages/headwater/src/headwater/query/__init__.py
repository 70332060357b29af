"""Queries: how one is declared, with parameters, pages and moments."""
