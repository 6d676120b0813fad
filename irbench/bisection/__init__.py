"""Which version of a runtime changed the speed or the answers of a model: what is tried, and what follows from it."""
