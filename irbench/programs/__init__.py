"""Programs that run what was measured without irbench: a text for each runtime, and what all of them share."""
