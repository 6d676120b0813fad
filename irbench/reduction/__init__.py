"""What `irbench reduce` searches: the smallest part of a graph that still shows a difference between backends."""
