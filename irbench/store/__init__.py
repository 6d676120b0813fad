"""Where runs are kept: raw samples once, written safely, and every number derived from them."""
