"""Latency of requests that arrive on their own, where theory knows it: irbench beside MLPerf's LoadGen."""
