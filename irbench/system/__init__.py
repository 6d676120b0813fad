"""The operating system beneath: files that survive a crash, locks, memory limits, processors."""
