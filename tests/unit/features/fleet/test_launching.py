"""How a worker on this machine ended is told by its exit code, and by what it printed only where that is a reason."""

from __future__ import annotations

import asyncio
import signal
import sys
from pathlib import Path

import pytest

pytest.importorskip("distributed")
pytest.importorskip("asyncssh")

from irbench.features.fleet.cluster_process import ProcessRequest
from irbench.features.fleet.launching import started_here

TRACKER = "sys.stderr.write('resource_tracker: There appear to be 1 leaked semaphore objects\\n')"


def end_of(tmp_path: Path, code: str) -> str:
    """Start a program in the place of Python, and return how it ended."""
    python = tmp_path / "python"
    python.write_text(f"#!{sys.executable}\nimport os, sys\nprint('tcp://here', flush=True)\n{code}\n")
    python.chmod(0o755)

    async def ended() -> str:
        async with started_here(ProcessRequest(name="a", scheduler="tcp://there"), str(python)) as started:
            assert started.address == "tcp://here"
            return await started.ended()

    return asyncio.run(ended())


@pytest.mark.parametrize(
    ("code", "how"),
    [
        ("raise SystemExit('MemoryError: no memory')", "ended with exit code 1 (MemoryError: no memory)"),
        (f"{TRACKER}; os.kill(os.getpid(), {signal.SIGKILL.value})", "was killed by SIGKILL"),
        (f"{TRACKER}; os.kill(os.getpid(), {signal.SIGSEGV.value})", "crashed with SIGSEGV"),
        (f"{TRACKER}", "ended with exit code 0"),
    ],
    ids=["an error", "killed", "crashed", "without an error"],
)
def test_a_worker_that_ended_is_said_to_have_ended_by_what_ended_it(tmp_path: Path, code: str, how: str):
    assert end_of(tmp_path, code) == how
