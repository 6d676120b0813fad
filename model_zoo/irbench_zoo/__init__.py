"""Models that irbench can build by name, with seeded random weights."""
