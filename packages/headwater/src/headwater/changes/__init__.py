"""Changes over time: history, timeline and differences between two moments."""
