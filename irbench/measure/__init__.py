"""The only part of irbench that reads a clock or asks the kernel what happened."""
