"""Workers that may read and write only what they need."""
