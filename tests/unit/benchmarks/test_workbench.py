"""Commands are whole processes: measured, ended, and honest about their failures."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.workbench import MEASURED, CommandFailed, Workbench, in_turn

MIB = 1 << 20


def test_measurements_take_turns_in_alternating_order() -> None:
    order: list[str] = []
    found = in_turn(3, lambda: order.append("one") or len(order), lambda: order.append("other") or len(order))
    assert order == ["one", "other", "other", "one", "one", "other"]
    assert found == ((1, 4, 5), (2, 3, 6))


def test_a_command_finds_irbenchs_folders_in_the_scratch(tmp_path: Path) -> None:
    script = "import os; print(os.environ['IRBENCH_HOME'], os.environ['IRBENCH_RESULTS'])"
    bench = Workbench(tmp_path, quick=True)
    assert bench.run("python", "-c", script).out.split() == [str(tmp_path / "home"), str(tmp_path / "results")]
    own_home = bench.run("python", "-c", script, home=tmp_path / "elsewhere").out.split()[0]
    assert own_home == str(tmp_path / "elsewhere")


def test_a_command_that_fails_is_quoted_by_its_last_line(tmp_path: Path) -> None:
    script = "import sys; print('first', file=sys.stderr); sys.exit('no such model')"
    with pytest.raises(CommandFailed, match=r"python ended with 1: no such model"):
        Workbench(tmp_path, quick=True).run("python", "-c", script)


def test_a_run_whose_row_failed_is_no_error_where_it_wrote_its_document(tmp_path: Path) -> None:
    bench = Workbench(tmp_path, quick=True)
    ends = "import sys; print('the table'); sys.exit(3)"
    assert bench.run("python", "-c", ends, accept=MEASURED).out.strip() == "the table"
    with pytest.raises(CommandFailed, match="ended with 3"):
        bench.run("python", "-c", "import sys; sys.exit(3)", accept=MEASURED)
    with pytest.raises(CommandFailed, match="ended with 2"):
        bench.run("python", "-c", ends.replace("3", "2"), accept=MEASURED)


def test_of_irbenchs_own_error_the_line_that_says_what_is_wrong_is_quoted(tmp_path: Path) -> None:
    script = "import sys; sys.exit('resolving\\nerror: No model is called x.\\nhint: Name another,\\nor export one.')"
    with pytest.raises(CommandFailed, match=r"python ended with 1: No model is called x\.$"):
        Workbench(tmp_path, quick=True).run("python", "-c", script)


@pytest.mark.ci
def test_the_peak_is_that_of_the_largest_process_children_included(tmp_path: Path) -> None:
    child = "import time; block = b'x' * (200 << 20); time.sleep(0.5)"
    parent = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {child!r}])"
    done = Workbench(tmp_path, quick=True).run("python", "-c", parent, watch_memory=True)
    assert 200 * MIB < done.peak_bytes < 300 * MIB


def test_a_smoke_run_repeats_nothing(tmp_path: Path) -> None:
    assert Workbench(tmp_path, quick=True).repeats(7) == 1
    assert Workbench(tmp_path, quick=False).repeats(7) == 7
