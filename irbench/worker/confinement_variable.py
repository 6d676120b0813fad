"""What tells a worker that it is confined: a module without imports, since workers ask before they read the clock."""

CONFINEMENT = "IRBENCH_WORKER_CONFINEMENT"
"""The environment variable that says what a worker may reach; without it a worker is not confined."""
