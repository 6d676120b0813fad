"""What stored runs say together: how two of them differ, how figures changed, and whether a claim holds again."""
