"""What can go wrong with the coordinator: interrupts, kills, full disks, a second one. What was measured stays."""

from __future__ import annotations

import json
import os
import pty
import random
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import models
import psutil
import pytest
from fake_runs import ENOUGH, FASTEST
from front_door import irbench_process as irbench
from processes import none_left

from irbench.measure.lock import measuring
from irbench.store.runs import Store

IRBENCH = (sys.executable, "-m", "irbench")
QUICK = ("--backends", "fake-a", "--quick", *ENOUGH)
STAYING = ("--set", "fake-a.fault=hang", "--set", "fake-a.at=relaunch")
"""Does not end its second launch, so that whatever is to happen within it does."""

pytestmark = pytest.mark.usefixtures("known_backends")


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return models.mlp(tmp_path_factory.mktemp("model")).path


@pytest.fixture
def results(own_home: Path) -> Path:
    return own_home / "results"


def nothing_runs() -> bool:
    """Wait until no process is left that a coordinator of this test started, in whatever session or group."""
    own = os.environ["IRBENCH_LOCK"]
    return none_left(lambda process: process.pid != os.getpid() and process.environ().get("IRBENCH_LOCK") == own)


def launches_stored(results: Path) -> list[int]:
    """Return how many launches each run holds, oldest first, after checking the digest of every one."""
    store = Store(results)
    folders = sorted(path.parent for path in results.glob("runs/*/*/run.json"))
    return [len(store.launches(folder)) for folder in folders]


@pytest.mark.ci
@pytest.mark.parametrize(
    ("sent", "at", "launches"),
    [
        ("SIGTERM", "import", 0),
        ("SIGHUP", "run:30", 0),
        ("SIGINT", "relaunch", 1),
    ],
)
def test_a_signal_at_any_moment_ends_the_run_and_keeps_its_launches(
    model: Path, results: Path, sent: str, at: str, launches: int
) -> None:
    called = irbench(
        "run", model, "--backends", "fake-a,fake-b", "--format", "json", "--quick", *ENOUGH,
        "--set", "fake-a.call_us=20000", "--set", "fake-b.call_us=20000",
        "--set", f"fake-b.fault=interrupt:{sent}", "--set", f"fake-b.at={at}",
    )  # fmt: skip
    assert called.code == 130, called.err
    (group,) = called.document["groups"]
    assert (called.document["complete"], called.document["tables_planned"]) == (False, 1)
    assert group["stopped_by"] == "interrupt"
    assert group["launches"] == launches
    assert {row["state"] for row in group["cells"]} == {"ok" if launches else "interrupted"}
    assert launches_stored(results) == [launches]
    assert nothing_runs()


@pytest.mark.ci
def test_a_signal_while_a_run_is_planned_ends_it_before_anything_is_stored(
    model: Path, results: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("IRBENCH_HOME", str(tmp_path / "unknown-backends"))
    with started(model, *QUICK) as run:
        assert run.stderr is not None
        while "probing fake-a" not in run.stderr.readline():
            assert run.poll() is None
        run.send_signal(signal.SIGTERM)
        out, err = run.communicate(timeout=60)
    assert (run.returncode, out, err.splitlines()[-1]) == (130, "", "error: interrupted")
    assert not results.exists()
    assert nothing_runs()


@pytest.mark.ci
def test_a_closed_terminal_keeps_what_was_measured(model: Path, results: Path) -> None:
    controlling, terminal = pty.openpty()
    run = subprocess.Popen(
        [*IRBENCH, "run", str(model), *QUICK, *STAYING],
        stdin=terminal, stdout=terminal, stderr=terminal, start_new_session=True, preexec_fn=lambda: os.login_tty(0),
    )  # fmt: skip
    os.close(terminal)
    seen = b""
    while b"launch 2 of" not in seen:
        seen += os.read(controlling, 65536)
    os.close(controlling)
    assert run.wait(60) == 130
    assert launches_stored(results) == [1]
    assert irbench("show", "--format", "json").document["groups"][0]["stopped_by"] == "interrupt"
    assert nothing_runs()


@pytest.mark.parametrize(
    "kills",
    [pytest.param(1, marks=pytest.mark.ci), pytest.param(20, marks=(pytest.mark.slow, pytest.mark.long))],
)
def test_a_coordinator_that_is_killed_loses_no_launch_and_leaves_no_process(
    model: Path, results: Path, kills: int
) -> None:
    begun = time.monotonic()  # noqa: TID251 - says when to kill; nothing is asserted of it
    assert irbench("run", model, *QUICK).code == 0
    lifetime_s = time.monotonic() - begun  # noqa: TID251
    moments = random.Random(20)
    for _ in range(kills):
        with started(model, *QUICK) as run:
            time.sleep(moments.uniform(0.05, 0.95) * lifetime_s)  # noqa: TID251
            run.kill()
            _, err = run.communicate()
        assert nothing_runs()
        assert err.count(" done after ") <= launches_stored(results)[-1], err
    whole = [count for count in launches_stored(results) if count]
    listed = irbench("results")
    assert listed.code == 0, listed.err
    assert sum("mlp" in line for line in listed.out.splitlines()) == len(whole)
    assert irbench("show", "--format", "json").document["groups"][0]["launches"] == whole[-1]
    assert irbench("run", model, "--backends", "fake-a", *FASTEST).code == 0


@pytest.mark.ci
def test_a_second_run_is_told_who_measures_and_may_insist(model: Path, results: Path) -> None:
    with measuring("resnet50"):
        refused = irbench("run", model, *QUICK)
        assert refused.code == 2
        assert refused.out == ""
        problem, remedy = refused.err.splitlines()[-2:]
        assert problem.startswith(f"error: irbench (process {os.getpid()}, since 2")
        assert problem.endswith(": resnet50) is already measuring on this machine.")
        assert remedy.startswith("hint: Wait ")
        assert "--no-lock" in remedy
        assert len(refused.err.splitlines()) == 2, "it exported, optimised or probed before it was refused"
        assert not results.exists()
        assert irbench("run", model, *QUICK, "--dry-run").code == 0

        insisted = irbench("run", model, "--backends", "fake-a", "--format", "json", *FASTEST, "--no-lock")
        assert insisted.code == 0, insisted.err
        others = [note for note in insisted.document["groups"][0]["notes"] if note["code"] == "another-irbench"]
        assert [note["facts"]["process"] for note in others] == [os.getpid()]


@pytest.fixture
def mounted(tmp_path: Path) -> Path:
    """Return a folder on which a process may mount something that nobody else sees."""
    folder = tmp_path / "mounted"
    folder.mkdir()
    tried = subprocess.run(["unshare", "-rm", "mount", "-t", "tmpfs", "none", folder], capture_output=True, text=True)
    if tried.returncode:
        pytest.skip(f"this kernel lets us mount nothing: {tried.stderr.strip()}")
    return folder


def run_on(mount: str, folder: Path, *arguments: object) -> tuple[str, subprocess.CompletedProcess[str]]:
    """Run with results on a filesystem of its own, then show the last; return the run's exit code and what was said."""
    script = f'{mount} || exit 99; shift; "$@" >&2; echo $?; exec {" ".join(IRBENCH)} show --format json'
    done = subprocess.run(
        ["unshare", "-rm", "sh", "-c", script, "sh", str(folder), *IRBENCH, "run", *map(str, arguments)],
        env={**os.environ, "IRBENCH_RESULTS": str(folder)},
        capture_output=True, text=True, timeout=240, check=False,
    )  # fmt: skip
    assert done.returncode != 99, done.stderr
    assert "Traceback" not in done.stderr, done.stderr
    return done.stdout.partition("\n")[0], done


@pytest.mark.ci
@pytest.mark.parametrize(
    ("mount", "said"),
    [
        ('mount -t tmpfs -o size=256k none "$1"', "No space left on device"),
        ('mount -t tmpfs -o ro none "$1"', "Read-only file system"),
    ],
)
def test_a_disk_that_takes_nothing_is_told_before_anything_is_measured(
    model: Path, mounted: Path, mount: str, said: str
) -> None:
    code, done = run_on(mount, mounted, model, *QUICK)
    assert code == "2"
    lines = done.stderr.splitlines()
    (problem,) = [line for line in lines if line.startswith(f"error: {mounted}")]
    assert problem.endswith(f"cannot be written: {said}.")
    assert "--results" in lines[lines.index(problem) + 1]
    assert "launch 1" not in done.stderr


@pytest.mark.ci
def test_a_disk_that_fills_up_in_mid_run_keeps_what_was_committed(model: Path, mounted: Path) -> None:
    mount = 'mount -t tmpfs -o size=4m none "$1"'
    code, done = run_on(mount, mounted, model, *QUICK, "--set", "fake-a.fault=fill", "--set", "fake-a.at=relaunch")
    assert code == "2"
    lines = done.stderr.splitlines()
    (problem,) = [line for line in lines if line.startswith("error: ")]
    assert problem.endswith("launch-00-01.bin cannot be written: No space left on device.")
    assert f"kept in {mounted}" in lines[lines.index(problem) + 1]
    (group,) = json.loads(done.stdout.partition("\n")[2])["groups"]
    assert group["launches"] == 1
    assert group["cells"][0]["latency_ms"]["count"] > 0
    assert nothing_runs()


@pytest.mark.ci
def test_a_disk_without_room_for_optimised_models_is_told_with_its_remedy(model: Path, mounted: Path) -> None:
    script = (
        'mount -t tmpfs -o size=64k none "$1" || exit 99; cd "$1"; dd if=/dev/zero of=filler bs=4k 2>/dev/null; shift;'
        ' exec "$@"'
    )
    done = subprocess.run(
        ["unshare", "-rm", "sh", "-c", script, "sh", str(mounted), *IRBENCH, "optimize", str(model)],
        env={**os.environ, "IRBENCH_HOME": str(mounted)},
        capture_output=True, text=True, timeout=240, check=False,
    )  # fmt: skip
    assert done.returncode == 2, done.stderr
    problem, remedy = done.stderr.splitlines()[-2:]
    assert problem.startswith("error: ")
    assert problem.endswith("cannot be written: No space left on device.")
    assert "IRBENCH_HOME" in remedy


@pytest.mark.ci
def test_results_that_are_a_file_are_told_with_their_remedy(
    model: Path, results: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    results.write_text("not a folder")
    called = irbench("run", model, *QUICK)
    assert called.code == 2
    problem, remedy = called.err.splitlines()[-2:]
    assert problem.startswith(f"error: {results}")
    assert "--results" in remedy
    assert results.read_text() == "not a folder"


@contextmanager
def started(model: Path, *arguments: str) -> Iterator[subprocess.Popen[str]]:
    """Start a run and leave none behind, whatever the test finds."""
    run = subprocess.Popen(
        [*IRBENCH, "run", str(model), *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    with run:
        try:
            yield run
        finally:
            if psutil.pid_exists(run.pid):
                run.kill()
