"""Trained models as they are found in the world: from pinned wheels, on inputs that they were trained for."""
