"""The kernel ends the one worker that takes more memory than a cgroup has: that is said, and the others live on."""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

_ROOT = Path("/sys/fs/cgroup")
_MOST_BYTES = 400 << 20
_SCRIPT = """
import sys
from pathlib import Path
from irbench.worker import Worker, WorkerDied

folder = Path(sys.argv[1])
with Worker(folder / "small") as small, Worker(folder / "large") as large:
    try:
        large.ask("operator:mul", b"x", 1 << 30, deadline_s=60)  # touches every page
    except WorkerDied as death:
        print(death.message, death.hint, sep="\\n")
    print(small.ask("posixpath:join", "still", "there", deadline_s=60))
"""


@pytest.fixture
def within_a_cgroup() -> Iterator[list[str]]:
    """The words before a command that begin it in a cgroup with little memory; the test is skipped without one."""
    folder = _delegated()
    if folder is not None:
        yield ["sh", "-c", f'echo $$ > {folder}/cgroup.procs && exec "$@"', "sh"]
        with contextlib.suppress(OSError):
            folder.rmdir()
        return
    scope = ["systemd-run", "--user", "--scope", "--quiet", "-p", f"MemoryMax={_MOST_BYTES}", "-p", "MemorySwapMax=0"]
    if not (_ROOT / "cgroup.controllers").exists():
        pytest.skip("no cgroups of version 2 are mounted here")
    if shutil.which("systemd-run") is None or subprocess.run([*scope, "true"], capture_output=True).returncode:
        pytest.skip("this machine delegates no cgroup to its users")
    yield scope


def _delegated() -> Path | None:
    """Return a new cgroup with little memory, in the innermost one of ours that may have some."""
    own = next((line[3:] for line in Path("/proc/self/cgroup").read_text().splitlines() if line.startswith("0::")), "/")
    for place in (_ROOT / own.lstrip("/"), *(_ROOT / own.lstrip("/")).parents):
        folder = place / f"irbench-test-{os.getpid()}"
        if not place.is_relative_to(_ROOT):
            return None
        with contextlib.suppress(OSError):
            if "memory" in (place / "cgroup.subtree_control").read_text().split():
                folder.mkdir()
                if _can_begin_in(folder):
                    return folder
                folder.rmdir()
    return None


def _can_begin_in(folder: Path) -> bool:
    """Limit the memory of a new cgroup, and return whether we may begin processes there."""
    try:
        (folder / "memory.max").write_text(str(_MOST_BYTES))
        with contextlib.suppress(FileNotFoundError):  # without swap there is no such limit
            (folder / "memory.swap.max").write_text("0")
    except OSError:
        return False
    begun = subprocess.run(["sh", "-c", f"echo $$ > {folder}/cgroup.procs"], capture_output=True)
    return begun.returncode == 0


def test_a_worker_that_takes_all_memory_of_a_cgroup_is_ended_alone(tmp_path: Path, within_a_cgroup: list[str]) -> None:
    command = [*within_a_cgroup, sys.executable, "-c", _SCRIPT, str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    message, hint, answer = done.stdout.splitlines()
    assert message == "It was killed by SIGKILL."
    assert "out of memory" in hint
    assert answer == "still/there"
