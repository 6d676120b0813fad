"""What holds a program back: groups of irbench's own, tried on trees of files, and removed however it ends."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from irbench.errors import IrbenchError
from irbench.system.isolation import Control, Isolation, KernelFiles, isolated, remove_left_groups, require_possible

PROCESS, THREADS = 4000, ("4000", "4001")
CACHE = {"schemata": "    L3:0=fffff;1=fffff\n    MB:0=100;1=100\n", "tasks": "", "info/L3/min_cbm_bits": "2\n",
         "info/MB/min_bandwidth": "10\n"}  # fmt: skip
CGROUPS_1 = {"cpu/tasks": "", "cpu/cpu.shares": "1024\n", "cpuset/tasks": "", "cpuset/cpuset.cpus": "0-3\n",
             "cpuset/cpuset.mems": "0-1\n"}  # fmt: skip
CGROUPS_2 = {"cgroup.controllers": "cpuset cpu\n", "cgroup.subtree_control": "cpuset cpu\n", "cgroup.procs": "",
             "cpuset.cpus.effective": "0-3\n", "cpuset.mems.effective": "0-1\n"}  # fmt: skip
NODES = {"node0/cpulist": "0-1\n", "node1/cpulist": "2-3\n"}


@dataclass(frozen=True)
class Tree(KernelFiles):
    """The kernel's files as a tree; groups that are removed take their files with them, as the kernel's do."""

    def remove_group(self, group: Path) -> None:
        shutil.rmtree(group)


def tree(folder: Path, cgroup: Mapping[str, str] | None = None, resctrl: Mapping[str, str] | None = None) -> Tree:
    files = Tree(folder / "cgroup", folder / "resctrl", folder / "proc", folder / "node")
    for thread in THREADS:
        (files.proc / str(PROCESS) / "task" / thread).mkdir(parents=True)
    for root, texts in ((files.cgroup, cgroup), (files.resctrl, resctrl), (files.node, NODES)):
        for name, text in (texts or {}).items():
            (root / name).parent.mkdir(parents=True, exist_ok=True)
            (root / name).write_text(text)
    return files


@contextmanager
def group_of(files: Tree, control: Control, apart: tuple[int, ...] = (2, 3)) -> Iterator[Path]:
    """Yield the only group that holds the process back."""
    with isolated([PROCESS], Isolation((control,), apart), files):
        (group,) = [*files.resctrl.glob("irbench-*"), *files.cgroup.rglob("irbench-*")]
        yield group
    assert not group.exists()


@pytest.mark.parametrize(
    ("control", "cgroup", "file", "text"),
    [
        ("cpuset", CGROUPS_1, "cpuset.cpus", "2,3"),
        ("cpuset", CGROUPS_1, "cpuset.mems", "0-1"),
        ("cpuset", CGROUPS_2, "cpuset.cpus", "2,3"),
        ("memory-node", CGROUPS_1, "cpuset.mems", "1"),
        ("memory-node", CGROUPS_2, "cpuset.cpus", "0-3"),
        ("weight", CGROUPS_1, "cpu.shares", "2"),
        ("weight", CGROUPS_2, "cpu.weight", "1"),
        ("cache", {}, "schemata", "L3:0=3;1=3"),
        ("memory-bandwidth", {}, "schemata", "MB:0=10;1=10"),
    ],
)
def test_a_group_is_written_what_holds_its_members_back_and_is_gone_afterwards(
    tmp_path: Path, control: Control, cgroup: dict[str, str], file: str, text: str
) -> None:
    files = tree(tmp_path, cgroup, CACHE)
    with group_of(files, control) as group:
        assert (group / file).read_text().strip() == text


@pytest.mark.parametrize(
    ("cgroup", "members", "listed"), [(CGROUPS_1, "tasks", THREADS), (CGROUPS_2, "cgroup.procs", (str(PROCESS),))]
)
def test_threads_are_members_of_older_cgroups_and_processes_of_newer_ones(
    tmp_path: Path, cgroup: dict[str, str], members: str, listed: tuple[str, ...]
) -> None:
    files = tree(tmp_path, cgroup)
    with group_of(files, "weight") as group:
        assert (group / members).read_text().split() == list(listed)
    parent = files.cgroup if cgroup is CGROUPS_2 else files.cgroup / "cpu"
    assert (parent / members).read_text().split() == list(listed)


def test_nothing_is_left_where_the_body_raises(tmp_path: Path) -> None:
    files = tree(tmp_path, CGROUPS_1, CACHE)
    with pytest.raises(ValueError, match="broken"), isolated([PROCESS], Isolation(("cpuset", "cache"), (3,)), files):
        raise ValueError("broken")
    assert not [*files.cgroup.rglob("irbench-*"), *files.resctrl.glob("irbench-*")]


def test_groups_of_a_process_that_was_killed_are_removed_and_those_of_a_living_one_stay(tmp_path: Path) -> None:
    files = tree(tmp_path, CGROUPS_1, CACHE)
    left = [files.resctrl / "irbench-77-1-cache", files.cgroup / "cpuset" / "irbench-77-1-cpuset"]
    living = files.cgroup / "cpu" / f"irbench-{PROCESS}-1-weight"
    for group in (*left, living):
        group.mkdir()
    assert sorted(remove_left_groups(files)) == sorted(left)
    assert living.exists()
    assert not any(group.exists() for group in left)


@pytest.mark.parametrize(
    ("control", "named"),
    [
        ("cache", "resctrl"),
        ("memory-bandwidth", "resctrl"),
        ("cpuset", "cpuset"),
        ("weight", "cpu"),
        ("memory-node", "cpuset"),
    ],
)
def test_a_kernel_that_lacks_a_control_is_told_in_one_line_with_what_helps(
    tmp_path: Path, control: Control, named: str
) -> None:
    with pytest.raises(IrbenchError, match=named) as refused:
        require_possible((control,), tree(tmp_path))
    assert refused.value.hint


def test_a_controller_that_newer_cgroups_do_not_hand_down_is_named_with_the_command_that_enables_it(
    tmp_path: Path,
) -> None:
    files = tree(tmp_path, {**CGROUPS_2, "cgroup.subtree_control": "cpu\n"})
    with pytest.raises(IrbenchError, match="cpuset") as refused:
        require_possible(("cpuset",), files)
    assert "cgroup.subtree_control" in refused.value.hint


def test_without_a_node_away_from_the_model_memory_cannot_be_kept_apart(tmp_path: Path) -> None:
    with (
        pytest.raises(IrbenchError, match="memory node"),
        isolated([PROCESS], Isolation(("memory-node",), (1, 2)), tree(tmp_path, CGROUPS_1)),
    ):
        pass


def test_threads_that_end_are_passed_over_and_those_that_start_meanwhile_are_held_back_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    files = tree(tmp_path)
    held: set[int] = set()

    def hold(thread: int, _processors: Collection[int]) -> None:
        (files.proc / str(PROCESS) / "task" / "4002").mkdir(exist_ok=True)
        if thread == int(THREADS[1]):
            raise ProcessLookupError(3, "No such process")
        held.add(thread)

    monkeypatch.setattr(os, "sched_setaffinity", hold)
    with isolated([PROCESS, 5000], Isolation(("affinity",), (0,)), files):  # 5000 has ended altogether
        assert held == {PROCESS, 4002}


def test_a_process_is_moved_to_other_processors_and_becomes_nicer() -> None:
    with subprocess.Popen([sys.executable, "-c", "import time; time.sleep(100)"]) as child:
        processor = max(os.sched_getaffinity(0))
        with isolated([child.pid], Isolation(("affinity", "nice"), (processor,))):
            assert os.sched_getaffinity(child.pid) == {processor}
            assert os.getpriority(os.PRIO_PROCESS, child.pid) == 19
        child.kill()


@pytest.mark.parametrize("leads", [True, False])
def test_a_session_that_a_process_leads_becomes_nicer_and_no_other(tmp_path: Path, leads: bool) -> None:
    waits = [sys.executable, "-c", "import time; time.sleep(100)"]
    with subprocess.Popen(waits, start_new_session=leads) as child:
        files = tree(tmp_path)
        (files.proc / str(child.pid) / "task" / str(child.pid)).mkdir(parents=True)
        autogroup = files.proc / str(child.pid) / "autogroup"
        autogroup.write_text("/autogroup-7 nice 0\n")
        with isolated([child.pid], Isolation(("nice",), ()), files):
            assert os.getpriority(os.PRIO_PROCESS, child.pid) == 19
            assert autogroup.read_text() == ("19\n" if leads else "/autogroup-7 nice 0\n")
        child.kill()


def test_a_kernel_without_autogroups_is_left_alone(tmp_path: Path) -> None:
    with subprocess.Popen(["sleep", "100"], start_new_session=True) as child:
        files = tree(tmp_path)
        (files.proc / str(child.pid) / "task" / str(child.pid)).mkdir(parents=True)
        with isolated([child.pid], Isolation(("nice",), ()), files):
            assert not (files.proc / str(child.pid) / "autogroup").exists()
        child.kill()
