"""Cases one after the other, each in a folder of its own."""

from __future__ import annotations

import contextlib
import random
import re
import shutil
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from .cases import KINDS
from .judging import Finding, judge
from .lent_workers import lent_worker

_FOLDER = "case"


@dataclass(frozen=True)
class Outcome:
    """What became of a case.

    Attributes:
        kind: Of its file.
        number: Its place in the sequence of its seed.
        finding: The rule that it broke; ``None`` where it broke none.
    """

    kind: str
    number: int
    finding: Finding | None


class Laboratory:
    """A folder in which cases are made and judged; see :func:`laboratory`."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder / "surroundings"

    def examine(self, kind: str, chance: random.Random, keep: Path | None = None) -> Finding | None:
        """Make a case and judge it.

        Args:
            kind: One of :data:`structural_fuzz.cases.KINDS`.
            chance: What the case is made from.
            keep: The folder into which the files of the first case of each cause are copied; ``None`` for none.
        """
        folder = self._folder / _FOLDER
        _remove(self._folder)
        folder.mkdir(parents=True)
        calls = KINDS[kind](folder, chance)
        if keep is None:
            return judge(calls, folder)
        before = self._folder.with_name("before")
        _remove(before)
        shutil.copytree(folder, before, symlinks=True)
        finding = judge(calls, folder)
        if finding is not None:
            _keep(finding, before, keep)
        return finding


@contextlib.contextmanager
def laboratory() -> Iterator[Laboratory]:
    """Yield a laboratory with a worker of its own."""
    with tempfile.TemporaryDirectory(prefix="irbench-fuzz-") as folder, lent_worker():
        yield Laboratory(Path(folder))


def _keep(finding: Finding, files: Path, keep: Path) -> None:
    place = keep / re.sub(r"\W+", "-", f"{finding.rule} {finding.place}")
    if not place.exists():
        shutil.copytree(files, place, symlinks=True)
        (place / "FINDING.txt").write_text(f"{finding}\n{finding.said!r}\n")


def _remove(folder: Path) -> None:
    if folder.exists():
        shutil.rmtree(folder)
