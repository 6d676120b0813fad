"""The passes that fuse normalisations."""
