"""What the coordinator calls on a target: each returns bytes, and raises nothing that it can foresee."""

from __future__ import annotations

import os
import platform
import shutil
import subprocess
from collections.abc import Callable, Mapping
from importlib import metadata
from pathlib import Path
from typing import Any

import psutil

from irbench import __version__
from irbench.errors import IrbenchError, first_line
from irbench.features.fleet.messages import JobOutcome, JobRequest, SentFile, TargetFacts, packed, unpacked
from irbench.features.fleet.on_target import files
from irbench.features.fleet.on_target.files import ARCHIVE, ERRORS, FILES, OUTCOME, REQUEST, TURN
from irbench.measure.clock import utc_now
from irbench.system import host
from irbench.system.file_access import require_room, write_atomically
from irbench.system.locks import waiting_for
from irbench.system.programs import python_process

_COORDINATOR = "The coordinator"
_LONGEST_ERRORS_BYTES = 4000
_LEAST_ROOM_BYTES = 1 << 20
"""Where a job fails and its folder has not even this much room, that is why."""
_BOOT_ID = "/proc/sys/kernel/random/boot_id"
"""The same in all containers of a machine, whatever they are called."""


def describe() -> bytes:
    """Return the :class:`TargetFacts` of this machine."""
    return packed(
        TargetFacts(
            irbench_version=__version__,
            python=platform.python_version(),
            machine=files.machine_digest(_content(_BOOT_ID) or platform.node()),
            processor=host.processor_name(),
            processors=os.cpu_count() or 0,
            memory_bytes=psutil.virtual_memory().total,
            distributions={item.name: item.version for item in metadata.distributions()},
            utc=utc_now().isoformat(),
        )
    )


def take_piece(file: bytes, job: str, offset: int, piece: bytes) -> bytes:
    """Write a piece of a :class:`SentFile`, and return the :class:`JobOutcome` where that failed, otherwise nothing."""
    try:
        files.take_piece(unpacked(file, SentFile, _COORDINATOR), job, offset, piece)
    except (IrbenchError, OSError) as error:
        return packed(_failure(error))
    return b""


def measure(request: bytes) -> bytes:
    """Measure a :class:`JobRequest`, or go on with it, and return its :class:`JobOutcome`."""
    try:
        asked = unpacked(request, JobRequest, _COORDINATOR)
        folder = files.job_folder(asked.job, make=True)
        with waiting_for(folder / TURN):  # a worker that was given up may not have noticed yet
            outcome = _known(folder, request)
            if outcome is None:
                if wanted := files.missing(asked.files):
                    return packed(JobOutcome(kind="wants-files", wanted=wanted))
                for earlier in (OUTCOME, ARCHIVE):
                    (folder / earlier).unlink(missing_ok=True)
                files.lay_out(asked, folder / FILES)
                write_atomically(folder / REQUEST, request)
                outcome = _measured(folder)
            if outcome.kind != "busy" and not outcome.is_complete:
                require_room(folder, _LEAST_ROOM_BYTES)
            return packed(outcome)
    except (IrbenchError, OSError) as error:
        return packed(_failure(error))


def clear(job: str) -> bytes:
    """Remove what is here of a job that is done; files that it was sent stay."""
    shutil.rmtree(files.job_folder(job), ignore_errors=True)
    return b""


def diagnose(peak: bool) -> bytes:
    """Return what ``irbench doctor`` says of this machine, as JSON; nothing where it fails."""
    options = ("--peak",) if peak else ()
    return _python("irbench", "doctor", "--format", "json", *options, stdout=subprocess.PIPE).stdout


def _known(folder: Path, request: bytes) -> JobOutcome | None:
    """Return what came of a request that was measured before, without anybody learning of it; ``None`` otherwise."""
    if not (folder / OUTCOME).exists() or (folder / REQUEST).read_bytes() != request:
        return None
    outcome = _outcome(folder)
    return outcome if outcome.is_complete else None


def _measured(folder: Path) -> JobOutcome:
    with (folder / ERRORS).open("w+b") as errors:
        process = "irbench.features.fleet.on_target.job_process"
        code = _python(process, str(folder), str(os.getpid()), stdout=errors, stderr=errors).returncode
        if not (folder / OUTCOME).exists():
            return JobOutcome(kind="died", message=_death(code, folder / ERRORS))
    return _outcome(folder)


def _outcome(folder: Path) -> JobOutcome:
    outcome = unpacked((folder / OUTCOME).read_bytes(), JobOutcome, "The process of the job")
    has_runs = outcome.kind == "measured" and any(table.run for table in outcome.tables)
    archive = (folder / ARCHIVE).read_bytes() if has_runs else b""
    return JobOutcome(
        kind=outcome.kind, tables=outcome.tables, message=outcome.message, hint=outcome.hint, archive=archive
    )


def _python(module: str, *arguments: str, **streams: Any) -> subprocess.CompletedProcess[bytes]:
    """Run a module without what Dask added to its environment: threads of libraries that are set to 1."""
    import dask.config

    added: dict[str, object] = dask.config.get("distributed.nanny.pre-spawn-environ", {})
    set_by_dask = {name for name, value in added.items() if os.environ.get(name) == str(value)}
    command, environment = python_process("-m", module, *arguments, without=set_by_dask)
    streams = {"stdin": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, **streams}
    return subprocess.run(command, env=environment, check=False, **streams)


def _death(code: int, errors: Path) -> str:
    said = errors.read_bytes()[-_LONGEST_ERRORS_BYTES:].decode(errors="replace").strip().splitlines()
    how = f"signal {-code}" if code < 0 else f"code {code}"
    return f"its process ended with {how}{': ' if said else ''}{said[-1] if said else ''}"


def _failure(error: IrbenchError | OSError) -> JobOutcome:
    if isinstance(error, OSError):
        where = f"{error.filename}: " if error.filename else ""
        return JobOutcome(kind="unwritable", message=f"{where}{error.strerror or first_line(error)}")
    return JobOutcome(kind="refused", message=error.message, hint=error.hint)


def _content(path: str) -> str:
    try:
        return Path(path).read_text(encoding="ascii").strip()
    except (OSError, UnicodeDecodeError):
        return ""


TASKS: Mapping[str, Callable[..., bytes]] = {
    "describe": describe,
    "take_piece": take_piece,
    "measure": measure,
    "clear": clear,
    "diagnose": diagnose,
}
"""By the names that the coordinator calls them."""
