"""What a target may send that is not what it was asked for: pickles that call something in whoever reads them."""

from __future__ import annotations

import os
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any


class Harm:
    """Has whoever unpickles it write its process id into a file of a folder."""

    def __init__(self, folder: str) -> None:
        self.folder = folder

    def __reduce__(self) -> tuple[Callable[..., Any], tuple[Any, ...]]:
        return (done, (self.folder,))


def done(folder: str) -> str:
    Path(folder, str(os.getpid())).touch()
    return "harm"


def as_result(folder: str) -> Any:
    return Harm(folder)


def as_exception(folder: str) -> Any:
    from distributed import worker
    from distributed.protocol import to_serialize

    def answer(*_: object, **__: object) -> dict[str, Any]:
        harm = to_serialize(pickle.dumps(Harm(folder)))
        return {"status": "error", "exception": harm, "traceback": None, "exception_text": "", "traceback_text": ""}

    worker.error_message = answer
    raise ValueError


def as_warning(folder: str) -> bytes:
    from distributed import get_worker

    get_worker().log_event("warn", {"message": pickle.dumps(Harm(folder))})
    return b"warned"


def as_header_of_bytes(folder: str) -> bytes:
    from distributed.protocol import serialize

    def dumped(_: object, context: object = None) -> tuple[dict[str, Any], list[bytes]]:
        return {"serializer": "dask", "type-serialized": pickle.dumps(Harm(folder)), "sub-header": {}}, [b""]

    for name, (_, loads, _) in tuple(serialize.families.items()):
        serialize.families[name] = (dumped, loads, True)
    return b"bytes"


ALL = (as_result, as_exception, as_warning, as_header_of_bytes)
