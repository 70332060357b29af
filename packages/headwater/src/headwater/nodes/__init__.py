"""Jobs and datasets: their summaries, versions and rows in lists."""
