"""Hardware counters and Top-Down of measured rows, in launches of their own."""
