"""The harness knows no runtime by name, so that one by a third party is treated like those that irbench brings."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import irbench

ROOT = Path(irbench.__file__).parent
NAMES = {
    "tf", "tf-xla", "ort", "openvino", "tensorflow", "keras", "tf2onnx", "onnxruntime", "onnxruntime-gpu",
    "onnx runtime",
}  # fmt: skip
MENTIONED = re.compile(rf"[\"',:@+](?:{'|'.join(sorted(NAMES))})[\"',:@+]", re.IGNORECASE)
"""In every source that may have one: parsing the others takes seconds."""
EXAMPLES = (
    "notices/doubts.py",
    "notices/warnings.py",
    "notices/marks.py",
    "notices/notes.py",
)
"""Where texts are shown with examples of rows, for the documentation."""


def names_in(source: str) -> Iterator[str]:
    """Yield string literals that are a runtime's name, alone or in a list or address; prose may mention runtimes."""
    if not MENTIONED.search(source):
        return
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            parts = re.split(r"[,:@+]", node.value.lower())
            if NAMES & set(parts) and " " not in node.value.strip().replace("ONNX Runtime", ""):
                yield node.value


@pytest.mark.parametrize(
    ("source", "found"),
    [
        ('baseline = cell.label == "tf"', ["tf"]),
        ('if name in ("ort", "mine"): pass', ["ort"]),
        ('extras = "optimize,ort"', ["optimize,ort"]),
        ('title = "ONNX Runtime"', ["ONNX Runtime"]),
        ('match name:\n    case "openvino:gpu": pass', ["openvino:gpu"]),
        ('hint = "Add a backend that reads ONNX, ort for example."', []),
        ('kind = "tf-graph"', []),
    ],
)
def test_a_runtimes_name_is_told_from_prose(source: str, found: list[str]) -> None:
    assert list(names_in(source)) == found


def test_the_harness_names_no_runtime() -> None:
    found = {
        str(path.relative_to(ROOT)): set(names_in(path.read_text(encoding="utf-8")))
        for path in sorted(ROOT.rglob("*.py"))
    }
    assert {path: names for path, names in found.items() if names and path not in EXAMPLES} == {}
