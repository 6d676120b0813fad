"""A run as a whole: measured, stored, shown, exported and read again."""
