"""What stored runs say together: how two of them differ, how figures developed, and whether a claim holds again."""
