"""Functions that workers call on a file: what a reader, or a file that has taken one over, may do."""

from __future__ import annotations

import contextlib
import ctypes
import os
import pickle
import signal
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from irbench.errors import ExitCode, IrbenchError


class Harmful:
    """Calls something where it is unpickled."""

    def __init__(self, call: object, *arguments: object) -> None:
        self.call, self.arguments = call, arguments

    def __reduce__(self) -> tuple[object, tuple[object, ...]]:
        return self.call, self.arguments


def process_of(_: Path) -> tuple[int, int]:
    return os.getpid(), os.getppid()


def crash(_: Path) -> None:
    os.kill(os.getpid(), signal.SIGSEGV)


def take_memory(_: Path, size_bytes: int) -> int:
    return len(bytearray(size_bytes))


def never_end(_: Path) -> None:
    signal.pause()


def map_until_empty(path: Path) -> bytes:
    """Read a page that is mapped, and behind the end of the file by now."""
    from irbench.onnx.reading.protobuf import mapped

    with mapped(path) as data:
        while path.stat().st_size:
            pass
        return bytes(data)


def fail(_: Path) -> None:
    raise ValueError("no such thing")


def refuse(_: Path) -> None:
    raise IrbenchError("This is wrong.", hint="Fix it.", exit_code=ExitCode.NOT_INSTALLED)


def read_other(_: Path, other: str) -> bytes:
    return Path(other).read_bytes()


def answer(_: Path, size_bytes: int) -> bytes:
    return bytes(size_bytes)


def break_out(_: Path) -> object:
    """Answer with a pickle that runs a program, as a file could that has taken its reader over."""
    from irbench.worker import isolated_call

    isolated_call.encoded = pickle.dumps
    return Harmful(os.system, "true")


def states_of_threads() -> list[str]:
    """Return what the kernel says of each thread of this process."""
    return [(thread / "status").read_text() for thread in Path("/proc/self/task").iterdir()]


def open_files() -> list[str]:
    """Return what the descriptors of this process lead to, but for the one by which it looks."""
    found = []
    for descriptor in Path("/proc/self/fd").iterdir():
        with contextlib.suppress(OSError):
            found.append(str(descriptor.readlink()))
    return found


def variables(_: Path) -> list[str]:
    """Return the names of the environment variables here."""
    return list(os.environ)


def make_namespace() -> list[int]:
    """Return the errors with which a process, a thread and a program of its make a namespace; 0 where they do."""
    code = "import ctypes; c = ctypes.CDLL(None, use_errno=True); e = c.unshare(1 << 28) and ctypes.get_errno()"
    program = subprocess.run([sys.executable, "-c", f"{code}; raise SystemExit(e)"], check=False)
    with ThreadPoolExecutor(1) as pool:
        found = [pool.submit(_unshare).result(), program.returncode]
    return [*found, _unshare()]


def _unshare() -> int:
    libc = ctypes.CDLL(None, use_errno=True)
    return ctypes.get_errno() if libc.unshare(1 << 28) else 0
