"""Plans groups, launches workers, orders rounds, decides when to stop, and saves."""
