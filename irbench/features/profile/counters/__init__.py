"""Hardware counters of a profile: which operators are counted, in launches of their own, and what their classes do."""
