"""Which differences between two environments forbid a comparison, and which are what is compared."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from compared_runs import MACHINE
from documents import document

from irbench.across_runs.differences import differences_between, fingerprint
from irbench.core.result import RunDocument

CPU = MACHINE["cpu"]


def run(plan: dict[str, Any] | None = None, version: str = "0.1.0", **changes: Any) -> RunDocument:
    return document(environment={**MACHINE, **changes}, plan=plan or {}, irbench_version=version)


@pytest.mark.parametrize(
    ("changes", "name"),
    [
        ({"cpu": {**CPU, "Model name": "Another CPU"}}, "processor"),
        ({"cpu": {**CPU, "Flags": "avx2 avx512f"}}, "instructions"),
        ({"cpu": {**CPU, "Hypervisor vendor": "KVM"}}, None),
        ({"cpus_allowed": 4}, "processors"),
        ({"physical_cores_allowed": 1}, "cores"),
        ({"memory_bytes": 16 << 30}, "memory"),
        ({"kernel": "6.8.0"}, "kernel"),
    ],
)
def test_another_machine_forbids_a_comparison(changes: dict[str, Any], name: str | None):
    found = differences_between([run()], [run(**changes)])
    assert [difference.name for difference in found if difference.blocks] == ([name] if name else [])
    assert fingerprint(run().environment) != fingerprint(run(**changes).environment)


@pytest.mark.parametrize("changes", [{"kernel": "6.12.9-other"}, {"memory_bytes": (8 << 30) + 12345}])
def test_what_changes_a_little_on_one_machine_is_no_other_machine(changes: dict[str, Any]):
    assert differences_between([run()], [run(**changes)]) == ()
    assert fingerprint(run().environment) == fingerprint(run(**changes).environment)


@pytest.mark.parametrize(
    ("newer", "kind", "name"),
    [
        (run(distributions={"onnxruntime": "1.23.0"}), "software", "onnxruntime"),
        (run(python="3.12.1"), "software", "python"),
        (run(version="0.2.0"), "software", "irbench"),
        (run({"options": {"ort": {"x": "1"}}}), "settings", "options"),
        (run({"timing": {"warm_up": 1.0}}), "settings", "warm_up"),
        (run({"values": {"sr": [8000]}}), "inputs", "values"),
        (run(confined=True), "settings", "confined"),
    ],
)
def test_what_may_be_compared_is_told_and_forbids_nothing(newer: RunDocument, kind: str, name: str):
    older = run({"options": {}, "timing": {"warm_up": 0.3}, "values": {"sr": [16000]}}, confined=False)
    kept = {name: value for name, value in vars(older.plan).items() if not getattr(newer.plan, name)}
    newer = replace(newer, plan=replace(newer.plan, **kept))
    (difference,) = differences_between([older], [newer])
    assert (difference.kind, difference.name, difference.blocks) == (kind, name, False)


def test_what_one_side_does_not_know_is_no_difference():
    assert differences_between([run()], [document(environment={}, plan={"options": {}})]) == ()


def test_a_side_that_mixes_machines_differs_even_where_the_other_is_one_of_them():
    (difference,) = differences_between([run(), run(cpus_allowed=4)], [run()])
    assert (difference.name, difference.base, difference.new) == ("processors", ("2", "4"), ("2",))
