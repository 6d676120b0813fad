"""Threads that read a type for the first time at the same moment."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import irbench

_READ_AT_ONCE = """
import dataclasses, sys, threading
import msgspec
from irbench.system.prepared_types import prepared

sys.setswitchinterval(1e-6)
document = msgspec.json.encode({f"outer{i}": {f"inner{j}": j for j in range(60)} for i in range(30)})
for _ in range(20):
    inner = dataclasses.make_dataclass("Inner", [(f"inner{i}", int | None, None) for i in range(60)])
    outer = dataclasses.make_dataclass("Outer", [(f"outer{i}", inner, None) for i in range(30)])
    begin, read = threading.Barrier(4), []
    def take():
        begin.wait()
        read.append(msgspec.json.decode(document, type=prepared(outer)))
    threads = [threading.Thread(target=take) for _ in range(4)]
    for thread in threads: thread.start()
    for thread in threads: thread.join()
    assert len(read) == 4 and read[0].outer29.inner59 == 59
"""


def test_threads_that_read_a_type_for_the_first_time_at_once_get_whole_objects():
    subprocess.run((sys.executable, "-c", _READ_AT_ONCE), check=True)


def test_no_class_is_read_before_it_is_prepared():
    folder = Path(irbench.__file__).parent
    unprepared = [
        f"{path.relative_to(folder)}:{line}"
        for path in sorted(folder.rglob("*.py"))
        if path.name != "prepared_types.py" and "msgspec" in (text := path.read_text())
        for line in _reads_unprepared(ast.parse(text))
    ]
    assert unprepared == []


def _reads_unprepared(tree: ast.Module) -> Iterator[int]:
    for call in ast.walk(tree):
        if not isinstance(call, ast.Call):
            continue
        match ast.unparse(call.func).removeprefix("msgspec.json.").removeprefix("msgspec.msgpack."):
            case "Decoder":
                kinds = call.args[:1]
            case "decode":
                kinds = [word.value for word in call.keywords if word.arg == "type"]
            case "msgspec.convert":
                kinds = call.args[1:2]
            case _:
                continue
        yield from (call.lineno for kind in kinds if not _is_prepared(ast.unparse(kind)))


def _is_prepared(kind: str) -> bool:
    """Whether a type was prepared, or has no classes with fields."""
    return kind.startswith("prepared(") or kind in {"dict[str, Any]", "dict[str, str]", "tuple[int, int]"}
