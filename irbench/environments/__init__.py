"""Python environments with other versions of a runtime: built by uv and kept, or brought by the user."""
