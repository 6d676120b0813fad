"""What a fleet loses, and what it measures twice, when parts of it fail: ``python -m benchmarks.fleet_faults``.

Four targets measure a plan for real, through ssh and Dask. Each is a network namespace of this machine with an address,
a small disk and an sshd of its own, so that its network can be cut, its disk filled, and all of its processes killed or
put to sleep. That needs root, and the programs ip, mount and sshd. A table is lost where its run is not in the store at
the end, and measured twice where the store has it twice. A launch is repeated where a target has stored one that no run
holds.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

import psutil

from irbench.measure.clock import Stopwatch
from irbench.store.listing import list_runs
from tests import models
from tests.ssh_server import SshServer, ssh_server

_TABLES = 8
_TARGETS = 4
_NETWORK = "10.213.71"
_BRIDGE = "irbfleet"
_DISK = "96m"
_SHORT_S, _LONG_S = 15.0, 100.0
"""Below and above the minute after which a target that says nothing counts as gone."""
_LONGEST_S = 900.0
_JOB = "irbench.features.fleet.on_target.job_process"
_PLAN = f"""
[defaults]
models = "mlp.onnx"
backends = "ort"
quick = true
budget = "6s"
[[matrix]]
batch = [{", ".join(str(number + 1) for number in range(_TABLES))}]
"""


@dataclass(frozen=True)
class _Target:
    """A namespace that measures."""

    number: int
    folder: Path

    @property
    def namespace(self) -> str:
        return f"irbfleet{self.number}"

    @property
    def link(self) -> str:
        return f"irbf{self.number}"

    @property
    def home(self) -> Path:
        return self.folder / "home"

    def processes(self) -> list[psutil.Process]:
        words = ("ip", "netns", "pids", self.namespace)
        told = subprocess.run(words, check=True, capture_output=True, text=True)
        return [psutil.Process(int(pid)) for pid in told.stdout.split() if psutil.pid_exists(int(pid))]

    def jobs(self) -> list[psutil.Process]:
        found = []
        for process in self.processes():
            with contextlib.suppress(psutil.Error):
                if _JOB in process.cmdline():
                    found.append(process)
        return found

    def launches_left(self) -> int:
        """Return how many launches lie in folders of jobs."""
        return sum(1 for _ in self.home.glob("fleet/jobs/*/results/**/launch-*"))

    def send(self, sent: signal.Signals) -> None:
        for process in self.processes():
            with contextlib.suppress(psutil.Error):
                process.send_signal(sent)

    def connect(self, state: str) -> None:
        _call("ip", "link", "set", self.link, state)


@dataclass
class _World:
    """Targets, and one call that measures on them."""

    folder: Path
    targets: list[_Target]
    results: Path
    call: subprocess.Popen[str] | None = None

    def begin(self, *arguments: str, variables: str = "") -> None:
        """Start measuring."""
        plan, targets = self.folder / "plan.toml", self.folder / "fleet.toml"
        text = (self.folder / "targets.toml").read_text()
        targets.write_text(text.replace("variables = {", f"variables = {{ {variables}", 1))
        command = (sys.executable, "-m", "irbench", "fleet", "run", plan, "--targets", targets)
        words = (*command, "--results", self.results, *arguments)
        environment = {**os.environ, "IRBENCH_HOME": str(self.folder / "home")}
        log = (self.folder / "log.txt").open("a")
        with log:
            self.call = subprocess.Popen(
                tuple(map(str, words)), stdout=subprocess.DEVNULL, stderr=log, text=True, env=environment
            )

    def wait_for_launch(self) -> _Target:
        """Wait until a target has stored a launch of a job that goes on, and return it."""
        watch = Stopwatch()
        while watch.elapsed_s < _LONGEST_S and self.call is not None and self.call.poll() is None:
            for target in self.targets:
                if target.launches_left() and target.jobs():
                    return target
            _sleep(0.05)
        raise SystemExit(f"nothing was measured: {(self.folder / 'log.txt').read_text()[-2000:]}")

    def end(self) -> int:
        """Wait until the call has ended, and return its exit code."""
        assert self.call is not None
        return self.call.wait(_LONGEST_S)


_Fault = Callable[[_World], list[int]]
"""Measures with a fault, and returns the exit codes of its calls."""


def _nothing(world: _World) -> list[int]:
    world.begin()
    return [world.end()]


def _job_killed(world: _World) -> list[int]:
    world.begin()
    world.wait_for_launch().jobs()[0].kill()
    return [world.end()]


def _worker_killed(world: _World) -> list[int]:
    world.begin()
    worker = world.wait_for_launch().jobs()[0].parent()
    assert worker is not None
    worker.kill()
    return [world.end()]


def _target_killed(world: _World) -> list[int]:
    world.begin()
    target = world.wait_for_launch()
    for process in target.processes():
        if process.name() != "sshd" or process.ppid() != os.getpid():  # its sshd is the machine that comes back
            with contextlib.suppress(psutil.Error):
                process.kill()
    return [world.end()]


def _coordinator_killed(world: _World) -> list[int]:
    world.begin()
    world.wait_for_launch()
    assert world.call is not None
    world.call.kill()
    codes = [world.end()]
    world.begin("--resume")
    return [*codes, world.end()]


def _cut(seconds: float) -> _Fault:
    def measure(world: _World) -> list[int]:
        world.begin()
        target = world.wait_for_launch()
        target.connect("down")
        _sleep(seconds)
        target.connect("up")
        return [world.end()]

    return measure


def _asleep(seconds: float) -> _Fault:
    def measure(world: _World) -> list[int]:
        world.begin()
        target = world.wait_for_launch()
        target.send(signal.SIGSTOP)
        _sleep(seconds)
        target.send(signal.SIGCONT)
        return [world.end()]

    return measure


def _disk_of_target_full(world: _World) -> list[int]:
    world.begin()
    target = world.wait_for_launch()
    with _filled(target.home):
        codes = [world.end()]
    world.begin("--resume")
    return [*codes, world.end()]


def _disk_here_full(world: _World) -> list[int]:
    world.begin()
    world.wait_for_launch()
    with _filled(world.results):
        codes = [world.end()]
    world.begin("--resume")
    return [*codes, world.end()]


def _clock_a_day_ahead(world: _World) -> list[int]:
    library = next(Path("/usr/lib").glob("*/faketime/libfaketimeMT.so.1"), None)
    if library is None:
        return []
    # FAKETIME_DONT_FAKE_MONOTONIC of libfaketime 0.9.10 makes sleeps of Python fail; all clocks ahead are as good
    world.begin(variables=f'LD_PRELOAD = "{library}", FAKETIME = "+1d",')
    return [world.end()]


_FAULTS: dict[str, _Fault] = {
    "none": _nothing,
    "process of a job: kill -9": _job_killed,
    "worker of Dask: kill -9": _worker_killed,
    "every process of a target: kill -9": _target_killed,
    "coordinator: kill -9, then --resume": _coordinator_killed,
    f"network of a target cut for {_SHORT_S:.0f} s": _cut(_SHORT_S),
    f"network of a target cut for {_LONG_S:.0f} s": _cut(_LONG_S),
    f"target asleep for {_SHORT_S:.0f} s": _asleep(_SHORT_S),
    f"target asleep for {_LONG_S:.0f} s": _asleep(_LONG_S),
    "disk of a target full, then --resume": _disk_of_target_full,
    "disk of the coordinator full, then --resume": _disk_here_full,
    "clock of a target a day ahead": _clock_a_day_ahead,
}


@contextmanager
def _filled(folder: Path) -> Iterator[None]:
    """Have a disk without room."""
    filler = folder / "filler"
    with filler.open("wb", buffering=0) as file, contextlib.suppress(OSError):
        while True:
            file.write(b"0" * 4096)
    try:
        yield
    finally:
        filler.unlink()


def _call(*words: object) -> None:
    subprocess.run(tuple(map(str, words)), check=True)


@contextmanager
def _targets(folder: Path) -> Iterator[list[_Target]]:
    """Yield namespaces with an sshd each, and write a file of targets."""
    with ExitStack() as stack:
        _call("ip", "link", "add", _BRIDGE, "type", "bridge")
        stack.callback(_call, "ip", "link", "del", _BRIDGE)
        _call("ip", "addr", "add", f"{_NETWORK}.1/24", "dev", _BRIDGE)
        _call("ip", "link", "set", _BRIDGE, "up")
        targets, texts = [], []
        for number in range(_TARGETS):
            target = _Target(number, folder / f"target{number}")
            targets.append(target)
            server = stack.enter_context(_reached(target))
            home = f'IRBENCH_HOME = "{target.home}", IRBENCH_LOCK = "{target.folder}/lock"'
            texts.append(f'{server.target(f"target-{number}")}pool = "all"\nvariables = {{ {home} }}\n')
        (folder / "targets.toml").write_text("".join(("same-machine = true\n", *texts)))
        yield targets


@contextmanager
def _reached(target: _Target) -> Iterator[SshServer]:
    """Yield the sshd of a target, which has a network and a disk."""
    inside = ("ip", "netns", "exec", target.namespace)
    address = f"{_NETWORK}.{target.number + 10}"
    target.folder.mkdir()
    with ExitStack() as stack:
        _call("ip", "netns", "add", target.namespace)
        stack.callback(_call, "ip", "netns", "del", target.namespace)
        _call("ip", "link", "add", target.link, "type", "veth", "peer", "name", "eth0", "netns", target.namespace)
        _call("ip", "link", "set", target.link, "master", _BRIDGE, "up")
        _call(*inside, "ip", "addr", "add", f"{address}/24", "dev", "eth0")
        _call(*inside, "ip", "link", "set", "eth0", "up")
        _call(*inside, "ip", "link", "set", "lo", "up")
        stack.enter_context(_disk(target.home))
        yield stack.enter_context(ssh_server(target.folder, address, inside))


@contextmanager
def _disk(place: Path) -> Iterator[None]:
    """Have a small disk of its own lie in a place."""
    place.mkdir(exist_ok=True)
    _call("mount", "-t", "tmpfs", "-o", f"size={_DISK}", "none", place)
    try:
        yield
    finally:
        _call("umount", "-l", place)


def _row(name: str, codes: list[int], world: _World) -> str:
    """Return what came of a fault, as a row of the table."""
    entries = [entry for entry in list_runs(world.results).entries if entry.complete]
    stored = Counter(entry.batches for entry in entries)
    twice = sum(count - 1 for count in stored.values())
    said = (world.folder / "log.txt").read_text()
    begun = said.count(": measures ")
    left = sum(target.launches_left() for target in world.targets)
    shown = ", ".join(map(str, codes))
    return f"| {name} | {shown} | {_TABLES} | {_TABLES - len(stored)} | {twice} | {begun - _TABLES} | {left} |"


def _measured(name: str, fault: _Fault, folder: Path, targets: list[_Target]) -> str:
    results = folder / "results"
    (folder / "log.txt").write_text("")
    for target in targets:
        _call("rm", "-rf", target.home / "fleet")
    with _disk(results):
        world = _World(folder, targets, results)
        try:
            codes = fault(world)
            return (
                _row(name, codes, world) if codes else f"| {name} | not tried: libfaketime is not installed | | | | | |"
            )
        finally:
            if world.call is not None:
                world.call.kill()
            sys.stderr.write(f"--- {name}\n{(folder / 'log.txt').read_text()}\n")


def _sleep(seconds: float) -> None:
    time.sleep(seconds)  # noqa: TID251 - others do something in their own time


def _say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def main() -> None:
    """Print the table, a row for each fault."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", default="", help="only faults whose name has this")
    wanted = parser.parse_args().only
    _say("| fault | exit codes | jobs | lost | measured twice | jobs begun again | launches repeated |")
    _say("|---|---|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        models.mlp(folder)
        (folder / "plan.toml").write_text(_PLAN)
        with _targets(folder) as targets:
            for fault, measure in _FAULTS.items():
                if wanted in fault:
                    _say(_measured(fault, measure, folder, targets))


if __name__ == "__main__":
    main()
