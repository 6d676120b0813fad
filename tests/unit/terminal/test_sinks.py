"""Text reaches the user through a few functions, which take out what would steer a terminal."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import irbench

ROOT = Path(irbench.__file__).parent
MENTIONED = re.compile(r"\bclick\.|\b(?:print|input|Console)\(|\bsys\.std")
"""In every module that may write: parsing the others takes seconds."""
WRITERS = {"click.echo", "click.secho", "click.confirm", "click.prompt", "print", "input", "Console"}
STREAMS = {"sys.stdout", "sys.stderr"}
SINKS = {
    "__main__.py": {"sys.stderr"},
    "terminal/stderr.py": {"click.echo", "sys.stderr"},
    "terminal/console.py": {"click.confirm", "Console", "sys.stdout"},
    "terminal/run_output.py": {"sys.stdout"},
    "terminal/standard_streams.py": STREAMS,
    "api/display.py": {"Console"},
    "api/live_display.py": {"sys.stderr"},
    "api/notebook_display.py": {"sys.stderr"},
    "api/progress.py": {"sys.stderr"},
    "render/html.py": {"Console"},  # into a text that is escaped for a page
}
"""Modules whose texts are sanitised in them, or are data of a format that is."""
OWN_PROCESSES = {
    "worker/__main__.py", "environments/inspection.py", "measure/answering.py",
    "features/fleet/worker_process.py", "features/fleet/on_target/measured_job.py", "programs/check.py",
}  # fmt: skip
"""What they print goes to irbench and not to a terminal; the last one is copied to where irbench is not."""


def writers(module: Path) -> Iterator[str]:
    text = module.read_text(encoding="utf-8")
    if not MENTIONED.search(text):
        return
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Call) and name_of(node.func) in WRITERS:
            yield name_of(node.func)
        if name_of(node) in STREAMS:
            yield name_of(node)


def name_of(node: ast.AST) -> str:
    if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
        return f"{node.value.id}.{node.attr}"
    return node.id if isinstance(node, ast.Name) else ""


def test_only_the_sinks_write() -> None:
    found = {str(path.relative_to(ROOT)): names for path in ROOT.rglob("*.py") if (names := set(writers(path)))}
    asks_for_a_terminal = {"features/run/command.py": {"sys.stderr"}, "features/results/command.py": {"sys.stdout"}}
    assert {name: names for name, names in found.items() if name not in OWN_PROCESSES} == SINKS | asks_for_a_terminal
