"""Stored runs for tests of what is done with them, and the calls that do it."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

from documents import ENVIRONMENT, cell, example, failed, group, launch, speedup
from front_door import Called, irbench
from stored_plans import stored_plan

from irbench.core.result import GroupResult, Lead
from irbench.store.runs import RunWriter, Store

PREVIEW = group(
    cell("openvino", speedup=speedup(1.1, 1.05, 1.2, "preview")),
    cell("ort"),
    preview=True,
    lead=Lead(
        "openvino/fp32",
        "ort/fp32",
        1.08,
        low=None,
        high=None,
        launches=3,
        reason="preview",
        range_low=1.05,
        range_high=1.20,
    ),
)
FAILED = group(failed("ort"), failed("openvino"), baseline=None, stopped_by="failures")


def measured(root: Path, *tables: GroupResult, launches: int = 1) -> RunWriter:
    writer = Store(root).begin(ENVIRONMENT, stored_plan())
    groups = tables or (example(),)
    for number in range(launches):
        writer.add_launch(launch(number, cells=tuple(row.id for row in groups[0].cells[:2])))
    writer.commit(replace(writer.document, groups=groups, complete=True))
    return writer


def measured_model(store: Store, model: str = "resnet50", launches: int = 1) -> RunWriter:
    """Store a finished run of a model."""
    writer = store.begin(ENVIRONMENT, stored_plan(models=[model]))
    for number in range(launches):
        writer.add_launch(launch(number))
    writer.commit(replace(writer.document, groups=(replace(example(), model=model),), complete=True))
    return writer


def results(root: Path, *arguments: object) -> Called:
    return irbench("results", *arguments, "--results", root)


def listed(root: Path, *arguments: object) -> list[dict[str, Any]]:
    called = irbench("results", "--results", root, "--format", "json", *arguments)
    assert called.code == 0, called.err
    found: list[dict[str, Any]] = called.document["runs"]
    return found


def names(root: Path) -> set[str]:
    return {entry["run_id"] for entry in listed(root)}


def refused(called: Called, said: str, hint: str) -> bool:
    """Return that a call ended as a wrong one does, its last two lines saying what is wrong and what to do."""
    *_, problem, remedy = called.err.strip().splitlines()
    assert (called.code, problem[:7], remedy[:6]) == (2, "error: ", "hint: "), called.err
    assert said in problem
    assert hint in remedy
    return True


def altered(data: bytes) -> bytes:
    return data[:-1] + bytes([data[-1] ^ 1])


def older_and_newer(root: Path, older: GroupResult, newer: GroupResult) -> tuple[RunWriter, RunWriter]:
    """Store two runs, the second of which is surely the newer one."""
    first = measured(root, older)
    while (second := measured(root, newer)).document.run_id < first.document.run_id:
        shutil.rmtree(second.folder)
    return first, second
