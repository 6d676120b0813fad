"""Plans of sweeps: reading and checking them, the plans that are shipped, and a stored run as a plan."""
