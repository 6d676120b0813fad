"""Statistics of cold starts, requests, texts, training steps and neighbours: of more than one call after the other."""
