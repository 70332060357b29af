"""Find and describe nodes."""
