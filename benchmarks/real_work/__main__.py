"""irbench with levels that append layers, for this process and its workers."""

from __future__ import annotations

from pathlib import Path

from benchmarks.plugin import call_irbench

LEVELS = {
    "same": ("add_none",),
    "longer-1": ("add_1_percent",),
    "longer-2": ("add_2_percent",),
    "longer-3": ("add_3_percent",),
    "longer": ("add_a_twentieth",),
    "longer-10": ("add_10_percent",),
    "twice": ("add_as_many",),
}

if __name__ == "__main__":
    call_irbench(Path(__file__).parent, LEVELS)
