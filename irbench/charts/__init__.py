"""Charts of runs: the figures that they show, their specifications, and how they are drawn."""
