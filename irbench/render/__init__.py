"""Words and tables made of facts, which several features share: printed by nobody here."""
