"""Functions that tests run inside workers."""

from __future__ import annotations

import ctypes
import os
import signal
import struct
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import NoReturn

import psutil
from processes import comes_true


def start_sleeper() -> int:
    """Start a child that sleeps for an hour, and return its process id."""
    return subprocess.Popen(["sleep", "3600"]).pid


def say_and_die(text: str, number: int) -> None:
    """Print a line and die by a signal."""
    os.write(2, f"{text}\n".encode())
    os.kill(os.getpid(), signal.Signals(number))


def report(value: object, say: Callable[[object], None]) -> None:
    """Report a value as progress."""
    say(value)


def start_daemon(*, clears_environment: bool = False) -> int:
    """Start a sleeper as daemons do, twice forked and in a session of its own, and return its process id."""
    popen = "subprocess.Popen(['sleep', '3600'], start_new_session=True, stdout=-3, env=ENV).pid"
    script = f"import subprocess; print({popen.replace('ENV', '{}' if clears_environment else 'None')})"
    daemon = int(subprocess.run([sys.executable, "-c", script], stdout=subprocess.PIPE, check=True).stdout)
    # until it has begun, with the environment that it is known by
    assert comes_true(lambda: psutil.Process(daemon).cmdline() == ["sleep", "3600"])
    return daemon


def start_hidden_daemon() -> int:
    """Start a daemon that shows nothing of who started it, and return its process id."""
    return start_daemon(clears_environment=True)


def start_daemon_and_die() -> NoReturn:
    """Say which daemon was started, and crash."""
    os.write(2, f"{start_daemon()}\n".encode())
    os.abort()


def die_while_answering() -> NoReturn:
    """Send the beginning of an answer and end."""
    begin_an_answer()
    os._exit(3)


def begin_an_answer() -> None:
    """Send the beginning of an answer of a kilobyte."""
    os.write(int(sys.argv[1]), struct.pack("!Q", 1000) + b"half of it")


def stop_while_answering() -> NoReturn:
    """Send the beginning of an answer and stand still."""
    begin_an_answer()
    os.kill(os.getpid(), signal.SIGSTOP)
    raise AssertionError


def dribble() -> NoReturn:
    """Send an answer so slowly that it never ends."""
    begin_an_answer()
    while True:
        os.write(int(sys.argv[1]), b".")
        time.sleep(0.05)  # noqa: TID251 - slowness is what is wanted


class Unreadable:
    """Something that only a worker can make of its pickle."""

    def __reduce__(self) -> tuple[Callable[[int], None], tuple[int]]:
        return _fail_unless_in, (os.getpid(),)


def _fail_unless_in(process: int) -> None:
    if os.getpid() != process:
        raise LookupError("no such class here")


def answer_what_cannot_be_read() -> Unreadable:
    """Return what can be pickled but not unpickled."""
    return Unreadable()


def hang_up() -> None:
    """Close what a careless runtime may close, and hang."""
    os.closerange(3, 256)
    time.sleep(3600)  # noqa: TID251 - a hang is what is wanted


def answer_what_cannot_travel() -> Callable[[], None]:
    """Return what cannot be pickled."""
    return lambda: None


def fill_the_log(megabytes: int) -> None:
    """Write as a native library does that knows no lines and no encoding."""
    for _ in range(megabytes):
        os.write(1, b"\xff\xfe~" * 350_000)
        os.write(2, b"\x80" * 10)


def hang_in_spawn(fifo: str) -> None:
    """Have a thread start a program that waits for its input before it begins: the kernel cannot stop such a thread."""
    libc = ctypes.CDLL(None)
    actions = ctypes.create_string_buffer(256)
    libc.posix_spawn_file_actions_init(actions)
    libc.posix_spawn_file_actions_addopen(actions, 0, fifo.encode(), os.O_RDONLY, 0)
    arguments = (ctypes.c_char_p * 2)(b"true", None)
    spawn = (ctypes.byref(ctypes.c_int()), b"/bin/true", actions, None, arguments, None)
    threading.Thread(target=libc.posix_spawn, args=spawn, daemon=True).start()
    while not psutil.Process().children():
        time.sleep(0.01)  # noqa: TID251 - until the thread is in the kernel


def stage_within(memory_bytes: int, sources: tuple[Path, ...], root: Path, scratch: Path) -> None:
    """Check runs as an import does, in this much memory beyond what the process has."""
    from irbench.features.results import moved_runs as import_staging

    import_staging.MEMORY_BYTES = memory_bytes
    import_staging.stage(sources, root, scratch)


class WrongHost:
    """Answers with something else than hosts do."""

    def prepare(self) -> tuple[int, int]:
        """Return no session."""
        return (1, 2)

    def peak_memory_bytes(self) -> int:
        """Return what this method returns elsewhere too."""
        return 3
