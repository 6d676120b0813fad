"""irbench measured by itself: what it costs, what it gains, and whether its numbers are true."""
