"""Faults of the scripted backends: what goes wrong, and at which stage."""

from __future__ import annotations

import contextlib
import mmap
import os
import resource
import signal
import subprocess
import time
from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np

from irbench.spec import Artifact
from irbench.spi import Array, Refusal

GROWTH_BYTES = 200_000_000
CHATTER_BYTES = 3_000_000
DAEMON_SLEEPS_S = 35917
LEAKED_BYTES = 1 << 30
grown: list[Array] = []
leaked = mmap.mmap(-1, LEAKED_BYTES)


def misbehave(options: Mapping[str, str], stage: str, runs: int = 0) -> None:
    """Do what the script says should go wrong at a stage (``at``: import, compile, relaunch, run, run:N or close)."""
    at, _, number = options.get("at", "run:8").partition(":")
    if at == stage and (not number or runs == int(number)):
        fault, _, detail = options.get("fault", "").partition(":")
        FAULTS.get(fault, lambda _: None)(detail)


def crash(name: str) -> None:
    """Die as by this signal, SIGSEGV unless named."""
    os.kill(os.getpid(), signal.Signals[name or "SIGSEGV"])


def crash_on(processor: str) -> None:
    """Die where this is the only processor that the process may use."""
    if os.sched_getaffinity(0) == {int(processor)}:
        crash("")


def hang(manner: str) -> None:
    """Give no answer: asleep, ``deaf`` to polite requests to end, ``stopped`` by somebody else, or amid a ``reply``."""
    if manner == "reply":
        from tests_support import begin_an_answer

        begin_an_answer()
    if manner == "deaf":
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            signal.signal(number, signal.SIG_IGN)
    if manner == "stopped":
        os.kill(os.getpid(), signal.SIGSTOP)
    time.sleep(3600)  # noqa: TID251 - a hang is what the script asks for


def hang_on(processor: str) -> None:
    """Give no answer where this is the only processor that the process may use."""
    if os.sched_getaffinity(0) == {int(processor)}:
        hang("")


def resist_freezing(_: str) -> None:
    """Answer, but with a thread in the kernel that cannot be stopped."""
    from tests_support import hang_in_spawn

    fifo = Path(os.environ["IRBENCH_LOCK"]).with_name("fifo")
    os.mkfifo(fifo)
    hang_in_spawn(str(fifo))


def lose_device(_: str) -> None:
    raise RuntimeError("the device was lost")


def lack_module(name: str) -> None:
    raise ModuleNotFoundError(f"No module named {name!r}")


def trespass(paths: str) -> None:
    """Fail with which files can be read, and whether the first of them can be written."""
    places = [Path(path) for path in paths.split(os.pathsep)]
    read = [place.name for place in places if _is_readable(place)]
    try:
        places[0].write_text("overwritten")
    except PermissionError:
        raise RuntimeError(f"it read {read} and wrote nothing") from None
    raise RuntimeError(f"it read {read} and wrote {places[0].name}")


def _is_readable(path: Path) -> bool:
    try:
        return bool(path.read_bytes())
    except PermissionError:
        return False


def show_variables(_: str) -> None:
    raise RuntimeError(f"it has {sorted(os.environ)}")


def refuse(_: str) -> None:
    raise Refusal("no such precision here", hint="ask for fp32")


def grow(_: str) -> None:
    grown.append(np.ones(GROWTH_BYTES, np.uint8))


def leak(size: str) -> None:
    """Make so many more bytes resident; what was freed before, and would be used again, is not among them."""
    leaked.write(b"1" * int(size))


def exhaust_memory(_: str) -> None:
    """Ask for more than a limit allows."""
    import psutil

    resource.setrlimit(
        resource.RLIMIT_AS, (psutil.Process().memory_info().vms + GROWTH_BYTES // 2, resource.RLIM_INFINITY)
    )
    grow("")


def chatter(_: str) -> None:
    """Write as native libraries do that know no lines and no encoding: megabytes to both outputs."""
    for descriptor in (1, 2):
        for _piece in range(4):
            os.write(descriptor, b"{\xff\xfe" * (CHATTER_BYTES // 12))


def leave_daemon(then: str) -> None:
    """Start what leaves the worker's session and is adopted by another process; crash afterwards if asked to."""
    script = f"import subprocess; subprocess.Popen(['sleep', '{DAEMON_SLEEPS_S}'], start_new_session=True)"
    subprocess.run(["python3", "-c", script], check=True)
    if then == "crash":
        crash("")


def kill_idle(_: str) -> None:
    """Kill another worker while it is frozen, as the kernel does that chooses the largest process."""
    import psutil

    frozen = [child for child in psutil.Process(os.getppid()).children() if child.status() == psutil.STATUS_STOPPED]
    frozen[-1].kill()


def fill_disk(_: str) -> None:
    """Leave no room where results are stored."""
    with (
        contextlib.suppress(OSError),
        (Path(os.environ["IRBENCH_RESULTS"]) / "filler").open("wb", buffering=0) as filler,
    ):
        while True:
            filler.write(bytes(4096))


def kill_helpers(_: str) -> None:
    """Kill what serves the coordinator besides its workers."""
    import psutil

    helpers = [child for child in psutil.Process(os.getppid()).children() if "irbench.worker" not in child.cmdline()]
    for helper in helpers:
        helper.kill()


def interrupt(name: str) -> None:
    """Send the coordinator a signal, SIGINT unless named."""
    os.kill(os.getppid(), signal.Signals[name or "SIGINT"])


def refuse_form(artifact: Artifact, fault: str) -> None:
    """Refuse a graph with bound shapes, with dynamic ones, or with either, as the script says."""
    if not fault.startswith("refuse-"):
        return
    from irbench.onnx.reading import signature

    dynamic = any(spec.dynamic_dimensions for spec in signature.read(artifact.path).inputs)
    if fault in ("refuse-either", "refuse-dynamic" if dynamic else "refuse-bound"):
        raise RuntimeError(f"{artifact.path}: shapes contradict each other")


FAULTS: Mapping[str, Callable[[str], None]] = {
    "crash": crash,
    "crash-on": crash_on,
    "hang-on": hang_on,
    "hang": hang,
    "resist": resist_freezing,
    "raise": lose_device,
    "lack": lack_module,
    "trespass": trespass,
    "variables": show_variables,
    "refuse": refuse,
    "grow": grow,
    "memory": exhaust_memory,
    "leak": leak,
    "chatter": chatter,
    "daemon": leave_daemon,
    "kill-idle": kill_idle,
    "kill-helpers": kill_helpers,
    "fill": fill_disk,
    "interrupt": interrupt,
}
