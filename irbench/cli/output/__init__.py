"""Where output goes, and in which form."""
