"""How much an archive of runs may hold: one from elsewhere can be small and unpack to more than a disk has."""

from __future__ import annotations

MOST_FILES = 1 << 18
"""Ten thousand runs of 26 files each; a run has a file for each launch, one for each row, and its document."""

MOST_RUNS = 1 << 14
"""Their documents are written to files before the rest of an archive is looked at, and each file takes a while."""

MOST_BYTES = 1 << 32
"""Of everything that is unpacked: ten thousand runs of the usual 200 kB take half of that."""

MOST_RATIO = 100
"""How many times larger than the archive what is unpacked may be. Launches, most of a run, are compressed already and
shrink no further; documents shrink to a tenth, and logs that repeat one line to a hundred-and-fiftieth."""

FREE_BYTES = 1 << 27
"""So much may be unpacked at any ratio: the logs of a hundred rows that all repeat one line."""


def excess(files: int, runs: int, unpacked_bytes: int, packed_bytes: int) -> str:
    """Return what is too much about an archive, as the rest of a sentence; nothing where it may be unpacked.

    Args:
        files: How many it holds, folders and extended headers included.
        runs: How many of them are the document of a run.
        unpacked_bytes: Size of all of them with their headers.
        packed_bytes: Size of the archive itself.
    """
    if files > MOST_FILES:
        return f"holds more than {MOST_FILES:,} files"
    if runs > MOST_RUNS:
        return f"holds more than {MOST_RUNS:,} runs"
    if unpacked_bytes > MOST_BYTES:
        return f"unpacks to more than {MOST_BYTES >> 30} GiB"
    if unpacked_bytes > max(FREE_BYTES, MOST_RATIO * packed_bytes):
        return f"unpacks to more than {MOST_RATIO} times its own size"
    return ""
