"""ONNX's own test suite through the front door: what a runtime passes alone it passes behind irbench too."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import bare_suite
import pytest
from front_door import irbench

BACKENDS = ("ort", "openvino")


def lost(pattern: str, folder: Path) -> dict[str, dict[str, str]]:
    """Return, by backend, the cases that pass on the bare runtime and not behind irbench, with irbench's reason."""
    report = folder / "suite.json"
    arguments = ("--backends", ",".join(BACKENDS), "--only", pattern, "--format", "json", "-o", report)
    called = irbench("verify", "--suite", "onnx", *arguments, timeout_s=3600)
    assert called.code in (0, 1, 3), called.err
    cases = json.loads(report.read_text())["cases"]
    losses = {}
    for backend in BACKENDS:
        names = folder / f"{backend}.json"
        subprocess.run([sys.executable, bare_suite.__file__, backend, names, pattern], check=True)
        ours = {case["name"]: case for case in cases if case["backend"] == backend}
        failed = [ours[name] for name in json.loads(names.read_text()) if ours[name]["outcome"] != "passed"]
        losses[backend] = {item["name"]: f"{item['outcome']}: {item['reason']}" for item in failed}
    return losses


@pytest.mark.slow
@pytest.mark.long
def test_irbench_loses_no_case_that_the_bare_runtimes_pass(tmp_path: Path) -> None:
    assert lost("*", tmp_path) == {backend: {} for backend in BACKENDS}
