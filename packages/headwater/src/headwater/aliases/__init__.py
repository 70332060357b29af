"""Aliases: names of one dataset, joined by symlinks or by users."""
