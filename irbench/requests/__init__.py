"""From what was asked to what will be measured: names resolved, files found, and what no backend can do refused."""
