"""What `irbench reduce` does besides searching: judge parts of a graph, and write the smallest one."""
