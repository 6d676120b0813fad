"""Let coverage guide the fuzzer: ``python -m tests.structural_fuzz.guided --kind card -runs=10000``.

It needs `atheris <https://github.com/google/atheris>`_: ``pip install atheris``. It is not among the tools of
development, because no other test needs it and there are wheels for few systems only. The lines of irbench that run in
this process count; those of workers do not. Options with one dash are libFuzzer's.
"""

from __future__ import annotations

import argparse
import random
import sys
from pathlib import Path

import atheris  # type: ignore[import-not-found]
import click

with atheris.instrument_imports(include=["irbench"]):
    from .cases import KINDS
    from .fuzzing import laboratory


class ScriptedChance(random.Random):
    """Draws from bytes that the fuzzer changes, and draws zeros behind their end."""

    def __init__(self, script: bytes) -> None:
        super().__init__(0)
        self._script = script
        self._at = 0

    def getrandbits(self, k: int, /) -> int:
        """Return so many bits of the script."""
        count = -(-k // 8)
        piece = self._script[self._at : self._at + count].ljust(count, b"\0")
        self._at += count
        return int.from_bytes(piece, "little") >> (8 * count - k)

    def random(self) -> float:
        """Return a number from [0, 1) of the script."""
        return self.getrandbits(53) / (1 << 53)


def main() -> None:
    """Fuzz one kind of file until libFuzzer ends it, and print each finding with a new cause."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kind", choices=list(KINDS), default="run document")
    parser.add_argument("--keep", type=Path, help="where the first case of each cause is kept")
    arguments, rest = parser.parse_known_args()
    causes: set[tuple[str, str]] = set()
    with laboratory() as room:

        def examine(script: bytes) -> None:
            finding = room.examine(arguments.kind, ScriptedChance(script), arguments.keep)
            if finding is not None and (finding.rule, finding.place) not in causes:
                causes.add((finding.rule, finding.place))
                click.echo(str(finding), err=True)

        atheris.Setup([sys.argv[0], "-timeout=0", "-max_len=1000", "-len_control=0", *rest], examine)
        atheris.Fuzz()


if __name__ == "__main__":
    with atheris.instrument_imports(include=["irbench"]):  # commands are imported when they are first called
        main()
