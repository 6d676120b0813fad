"""A cell that answers once in a fresh process: when that process began, how long each phase took, what it read."""

from __future__ import annotations

import contextlib
import os
import re
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from irbench.core import registry
from irbench.measure.process_start import FIRST_LINE_NS, NUMPY_IMPORT_NS
from irbench.worker.cell import CellHost, CellTask, PreparedSession

_PROC_SELF = Path("/proc/self")
_FILE = re.compile(r"(/.*?)(?: \(deleted\))?$")


@dataclass(frozen=True)
class FirstAnswer:
    """What a process saw until its first answer.

    Attributes:
        first_line_ns: When the process executed its first line, on the clock that all processes share.
        phases_ns: Duration of ``import``, ``load``, ``compile`` and ``first_inference``, in nanoseconds; ``import``
            includes that of NumPy.
        read_bytes: What the process fetched from disks; ``None`` where the kernel does not report it.
    """

    prepared: PreparedSession
    first_line_ns: int
    phases_ns: Mapping[str, int]
    read_bytes: int | None


class ColdStartHost:
    """Holds a cell that has not been imported yet."""

    def __init__(self, task: CellTask) -> None:
        registry.backend(task.cell.backend)  # looking a plugin up is irbench's work, and no part of any phase
        self._cell = CellHost(task)

    def import_runtime(self) -> None:
        """Import the backend's runtime."""
        self._cell.import_runtime()

    def answer(self, with_outputs: bool) -> FirstAnswer:
        """Load, compile and answer once; with every slot's answers if asked to."""
        prepared = self._cell.prepare(with_outputs)
        phases = dict(self._cell.phases_ns)
        phases["import"] = phases.get("import", 0) + NUMPY_IMPORT_NS
        return FirstAnswer(prepared, FIRST_LINE_NS, phases, _read_bytes())

    def files(self) -> tuple[str, ...]:
        """Return the paths of the files that this process has mapped, or imported as Python modules."""
        return tuple(sorted({*mapped_files(), *module_files()}))


def mapped_files() -> Iterator[str]:
    """Yield the files that this process has mapped and that are still there."""
    for line in (_PROC_SELF / "maps").read_text().splitlines():
        fields = line.split(maxsplit=5)
        match = _FILE.match(fields[5]) if len(fields) > 5 else None
        if match is not None and Path(match[1]).is_file():
            yield match[1]


def module_files() -> Iterator[str]:
    """Yield the files that the modules of this process were read from, and their bytecode."""
    for module in tuple(sys.modules.values()):
        for attribute in ("__file__", "__cached__"):
            with contextlib.suppress(Exception):  # a module may compute its attributes, and fail at it
                path = vars(module).get(attribute)
                if isinstance(path, str) and os.path.isabs(path) and Path(path).is_file():  # noqa: PTH117 - a string
                    yield path


def _read_bytes() -> int | None:
    try:
        lines = (_PROC_SELF / "io").read_text().splitlines()
    except OSError:
        return None
    return next((int(line.split()[1]) for line in lines if line.startswith("read_bytes:")), None)
