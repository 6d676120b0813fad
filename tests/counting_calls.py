"""``irbench run --counters`` with a scripted backend and a scripted perf: what its tests share."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NoReturn

import fake_perf
import pytest
from fake_runs import FASTEST
from front_door import Called, irbench

from irbench.measure import counter_support
from irbench.perf_events.topdown import Processor


def install_perf(
    folder: Path, patch: pytest.MonkeyPatch, *, has_pmu: bool = True, toplev: bool = False, **script: Any
) -> Path:
    """Install a scripted perf, on a processor with counters unless told otherwise; return the file of its calls."""
    patch.setattr(counter_support, "read_processor", lambda: Processor(has_pmu=has_pmu))
    return fake_perf.install(folder / "perf", script, patch, toplev=toplev)


def count(model: Path, counters: str, *arguments: object, form: str = "json") -> Called:
    """Call ``irbench run`` with counters, which makes one launch unless there is a longer budget."""
    return irbench(
        "run", model, "--backends", "fake-a", "--counters", counters, "--format", form, *FASTEST, *arguments
    )  # fmt: skip


def figures(called: Called) -> dict[tuple[str, str], dict[str, Any]]:
    """Return the figures of the only row by phase and name."""
    (table,) = called.document["counters"]
    (row,) = table["rows"]
    return {(figure["phase"], figure["name"]): figure for figure in row["figures"]}


def interrupt(*_: object) -> NoReturn:
    """Stand in for a launch during which somebody presses Ctrl-C."""
    raise KeyboardInterrupt
