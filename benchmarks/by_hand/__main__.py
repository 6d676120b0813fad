"""irbench with two more levels, ``hand`` and ``hand-vendor``, for this process and its workers."""

from __future__ import annotations

from pathlib import Path

from benchmarks.plugin import call_irbench

if __name__ == "__main__":
    call_irbench(Path(__file__).parent, {"hand": ("write_by_hand",), "hand-vendor": ("write_by_hand_vendor",)})
