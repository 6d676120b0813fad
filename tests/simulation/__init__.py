"""Seeded noise with a known truth, the shipped estimators run on it, and broken ones that must be told from them."""
