"""Pure statistics: from raw rounds to every figure, interval, verdict and warning of a table."""
