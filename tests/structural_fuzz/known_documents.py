"""The documents that are changed: with every kind of table, as irbench writes them."""

from __future__ import annotations

import functools
import hashlib
import json
import struct
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import cold_and_soak_runs
import counter_runs
import documents
import profiles
from compared_runs import EVEN, store, times

from irbench.across_runs.checked_runs import read_run
from irbench.features.profile.profile_document import encode_profile
from irbench.features.receipt.report import encode_receipt, receipt_of
from irbench.spec import Timing
from irbench.store.launch_files import encode_launch
from irbench.store.run_document import encode_document

MAGIC = b"IRBENCH1"
_CREATED = "2025-11-21T02:29:01+00:00"
PLAN: Mapping[str, Any] = {
    "name": "night",
    "seed": 3,
    "compare": ["backends", "streams"],
    "defaults": {
        "backends": ["fake-a", "fake-b"],
        "budget": "60s",
        "threads": [1, "native"],
        "cpus": "0-1",
        "within": "2%",
        "import": ["my_layers"],
        "cells": {"mine": "my_package:infer"},
        "counters": ["software"],
        "timeline": "100ms",
        "note": "at night",
    },
    "matrix": [
        {
            "models": ["model.onnx"],
            "batch": [1, 8],
            "shape": [{"x": "1x8"}],
            "value": [{"sr": 16000}],
            "exclude": [{"batch": 8, "threads": 1}],
            "include": [{"batch": 2}],
        },
        {
            "models": "model.onnx",
            "batch": "doubling",
            "largest-batch": 64,
            "stop-gain": "5%",
            "precision": "bf16",
            "set": {"fake-a": {"call_us": 4}},
            "vary": {"fake-b": {"call_us": [1, 2]}},
            "max-latency": "50ms",
        },
    ],
}
_FILE_STATE = {"sha256": "0" * 64, "size_bytes": 0, "modified_ns": 0, "inode_changed_ns": 0}
ORIGIN = {
    "source": "net.py:build",
    "folder": "/nowhere",
    "location": "/nowhere/net.py:build",
    "exporter": "tensorflow",
    "options": {"batch": None},
    "tools": {"tensorflow": "2.21.0"},
    "files": {"/nowhere/net.py": _FILE_STATE},
    "folders": ["/nowhere"],
    "listings": {"/nowhere": "0"},
    "modules": {"net": "/nowhere/net.py"},
    "packages": {"numpy": "2.0"},
    "absent": ["/nowhere/other.py"],
}
STATE: Sequence[Any] = (
    {"type": "sweep", "format": 1, "name": "night", "created": _CREATED, "irbench_version": "1", "seed": 7, "plan": {}},
    {"type": "begun", "table": "t1", "run": "run1"},
    {
        "type": "done", "table": "t1", "run": "run1", "exit_code": 3, "batch": 8, "seconds": 12.5,
        "rows": [{"row": "ort", "state": "ok", "fps": 100.0, "peak_bytes": 5}],
    },
    {"type": "failed", "table": "t2", "message": "There is no model.", "hint": "Export it.", "exit_code": 2},
    {"type": "begun", "table": "t3", "run": "run3"},
)  # fmt: skip


@functools.cache
def known_runs() -> Sequence[Any]:
    """Return documents with every kind of table."""
    busy = documents.group(
        documents.cell("openvino", speedup=documents.speedup(1.1, 1.05, 1.2)),
        documents.failed(),
        documents.cell("tf"),
        warnings=(documents.BUSY,),
    )
    made = (
        documents.document(),
        documents.document(documents.example(), busy),
        cold_and_soak_runs.cold(),
        cold_and_soak_runs.soak_example(),
        counter_runs.counted(),
    )
    return [json.loads(encode_document(run)) for run in made]


@functools.cache
def measured_run() -> tuple[Any, Mapping[str, bytes]]:
    """Return the document of a run whose figures follow from its launches, and the files of these."""
    with tempfile.TemporaryDirectory() as folder:
        plan = {"timing": asdict(Timing()), "name": "before", "note": "at night", "seed": 3}
        run = store(Path(folder), {"ort": EVEN, "tf": times(2)}, graph="abc", plan=plan).folder
        files = {path.name: path.read_bytes() for path in sorted(run.glob("launch-*.bin"))}
        document = json.loads((run / "run.json").read_bytes())
    same = documents.document()
    return {**document, "run_id": same.run_id, "created": same.created}, files


def parts_of_launch(data: bytes) -> tuple[Any, list[bytes]]:
    """Return the header of a launch's file, and its compressed series."""
    data = data[len(MAGIC) + hashlib.sha256().digest_size :]
    parts: list[bytes] = []
    while data:
        (length,) = struct.unpack_from("<I", data)
        parts.append(data[4 : 4 + length])
        data = data[4 + length :]
    return json.loads(parts[0]), parts[1:]


@functools.cache
def stored_run() -> Mapping[str, bytes]:
    launch = encode_launch(documents.launch(0, cells=("openvino/fp32", "ort/fp32")))
    document = documents.document(launches={"launch-00-00.bin": hashlib.sha256(launch).hexdigest()})
    return {"run.json": encode_document(document), "launch-00-00.bin": launch, "logs/ort.log": b"said\n"}


@functools.cache
def known_receipt() -> Any:
    with tempfile.TemporaryDirectory() as folder:
        levels = {"ort": EVEN, "tf": times(2), "xla": (*times(3)[:5], 42.0)}  # a slow launch is a warning
        run, _ = read_run(store(Path(folder), levels, graph="abc").folder)
        assert run is not None
        return json.loads(encode_receipt(receipt_of(run)))


@functools.cache
def known_profiles() -> Sequence[Any]:
    made = (profiles.example(), profiles.document(profiles.ort(), profiles.on_gpu()), profiles.compared())
    return [json.loads(encode_profile(profile)) for profile in made]
