"""irbench with three more levels, ``same``, ``longer`` and ``twice``, for this process and its workers."""

from __future__ import annotations

from pathlib import Path

from benchmarks.plugin import call_irbench

LEVELS = {"same": ("add_none",), "longer": ("add_a_twentieth",), "twice": ("add_as_many",)}

if __name__ == "__main__":
    call_irbench(Path(__file__).parent, LEVELS)
