"""Calls of irbench fleet on two targets of this machine, the processes that they start, and waiting for them."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psutil
from fake_runs import FASTEST_PLAN
from processes import none_left

from irbench.store.listing import list_runs

PLAN = f'{FASTEST_PLAN}backends = "fake-a"\n[[matrix]]\nbatch = [1, 2, 3]\n'


class Place:
    """A folder with a plan, its model, and two targets of one pool."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.results = folder / "results"
        self.targets = folder / "fleet.toml"
        (folder / "plan.toml").write_text(PLAN)
        self.write_targets()

    def write_targets(self, head: str = "") -> None:
        """Write a file of two targets that do not wait for each other."""
        targets = (
            f'[[targets]]\nname = "{name}"\npool = "both"\nprice-per-hour = 0.5\n'
            f'variables = {{ IRBENCH_LOCK = "{self.folder}/lock-{name}" }}\n'
            for name in ("left", "right")
        )
        self.targets.write_text("\n".join(("same-machine = true", head, *targets)))

    def command(self, *arguments: object) -> tuple[str, ...]:
        """Return the words that measure the plan on the targets."""
        words = ("fleet", "run", self.folder / "plan.toml", "--targets", self.targets, "--results", self.results)
        return tuple(map(str, (*words, *arguments)))

    @contextmanager
    def begun(self) -> Iterator[subprocess.Popen[str]]:
        """Yield a call that has a job in flight."""
        call = subprocess.Popen(
            (sys.executable, "-m", "irbench", *self.command()),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        with call:
            try:
                waited_for(lambda: job_processes(call.pid))
                yield call
            finally:
                call.kill()

    def write_apart(self) -> None:
        """Write two targets without a pool, each of which measures everything."""
        self.write_targets()
        self.targets.write_text(self.targets.read_text().replace('pool = "both"\n', ""))

    def require_each_table_once(self, report: dict[str, Any]) -> None:
        """Refuse a report or a store that lacks a table or has one twice."""
        assert sorted(table["label"] for table in report["tables"] if table["run"]) == [
            f"mlp.onnx batch={batch}" for batch in (1, 2, 3)
        ]
        entries = list_runs(self.results).entries
        assert all(entry.complete for entry in entries)
        assert sorted(entry.batches for entry in entries) == [(1,), (2,), (3,)]
        assert {entry.run_id for entry in entries} == {table["run"] for table in report["tables"]}


def job_processes(ancestor: int) -> list[psutil.Process]:
    """Return the processes of jobs below a process.

    What a job starts has the job's command line until it begins; it is none.
    """
    found = {}
    for process in psutil.Process(ancestor).children(recursive=True):
        try:
            if "irbench.features.fleet.on_target.job_process" in process.cmdline():
                found[process.pid] = process.ppid(), process
        except psutil.Error:
            continue
    return [process for parent, process in found.values() if parent not in found]


def nothing_is_left() -> bool:
    """Wait until no process is left that a call of this test started."""
    own = os.environ["IRBENCH_HOME"]
    return none_left(lambda process: process.pid != os.getpid() and process.environ().get("IRBENCH_HOME") == own)


def waited_for(find: Callable[[], Any]) -> Any:
    """Return what a function finds, when it finds something."""
    while not (found := find()):
        time.sleep(0.05)  # noqa: TID251 - others do something in their own time
    return found
