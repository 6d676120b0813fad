"""Which cells are launched next, how long, and when a group has its answer."""
