"""A run that nothing disturbs, and whose answer nothing doubts, prints a table and few lines below it."""

from __future__ import annotations

from pathlib import Path

import models
import pytest
from fake_runs import ENOUGH
from front_door import Called, irbench

pytestmark = [pytest.mark.usefixtures("known_backends"), pytest.mark.ci]


def run(folder: Path, *arguments: object) -> Called:
    folder.mkdir(exist_ok=True)
    scripts = ("--set", "fake-a.call_us=2000", "--set", "fake-b.call_us=2600")
    asked = ("--backends", "fake-a,fake-b", *scripts, *ENOUGH, "--results", folder / "results", *arguments)
    called = irbench("run", models.mlp(folder).path, *asked)
    assert called.code == 0, called.err
    return called


def below(called: Called) -> list[str]:
    """Return what the last rows of a run are followed by: on standard output, and after it on standard error."""
    lines = called.out.splitlines()
    last = max(number for number, line in enumerate(lines) if line.lstrip().startswith("fake-"))
    return [*lines[last + 1 :], *(line for line in called.err.splitlines() if line.startswith("stored in "))]


@pytest.mark.parametrize("asked", [(), ("--quick",)], ids=["default", "quick"])
def test_an_ordinary_run_of_two_rows_prints_a_table_and_three_lines_below_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, asked: tuple[str, ...]
) -> None:
    monkeypatch.delenv("IRBENCH_CONFINE", raising=False)
    attempts = (run(tmp_path / str(attempt), *asked) for attempt in range(3))
    called = next((called for called in attempts if "none disturbed" in called.out), None)
    if called is None:
        pytest.skip("other programs disturbed every attempt")
    assert len(below(called)) <= 3
    assert "warning" not in called.out + called.err


def test_a_default_precision_is_not_offered_where_rows_compute_in_it(tmp_path: Path) -> None:
    assert "not measured" not in run(tmp_path, "--quick", "--precision", "int8").out
