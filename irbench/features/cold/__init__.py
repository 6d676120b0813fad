"""Cold starts: what the first inference costs after a process or a machine has started."""
