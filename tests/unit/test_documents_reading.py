"""docs/reading-results.md explains all that a table can say, and nothing that it cannot."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import get_args

import pytest

from irbench.errors import ExitCode
from irbench.render import rows, sentences
from irbench.render.table import Column
from irbench.result import CellResult, GroupResult, RunDocument, State, StoppedBy, Verdict

ROOT = Path(__file__).parents[2]
HARNESS = ROOT / "irbench"
TEXT = (ROOT / "docs" / "reading-results.md").read_text()
FLAT = " ".join(TEXT.split())
KEBAB = re.compile(r"[a-z]+(-[a-z]+)+")
STAGE_ARGUMENTS = {"ask": 1, "_try": 1, "Failure": 0}
"""Where a stage stands among the arguments of what tells a failure."""


def section(heading: str) -> str:
    """Return what stands under a heading of the second level."""
    (found,) = re.findall(rf"^## {re.escape(heading)}\n(.*?)(?=^## |\Z)", TEXT, re.MULTILINE | re.DOTALL)
    return found


def tables(text: str) -> list[list[list[str]]]:
    """Return the cells of every Markdown table, without its head."""
    blocks = re.findall(r"(?:^\|.*\n)+", text, re.MULTILINE)
    return [
        [[cell.strip() for cell in row.strip("|").split("|")] for row in block.splitlines()[2:]] for block in blocks
    ]


def first_cells(table: list[list[str]]) -> list[str]:
    return [row[0].strip("`") for row in table]


@cache
def functions() -> tuple[ast.FunctionDef, ...]:
    """Return every function of the harness."""
    trees = (ast.parse(path.read_text()) for path in HARNESS.rglob("*.py"))
    return tuple(node for tree in trees for node in ast.walk(tree) if isinstance(node, ast.FunctionDef))


def functions_that_call(name: str) -> Iterator[tuple[ast.FunctionDef, list[ast.Call]]]:
    for function in functions():
        calls = [node for node in ast.walk(function) if isinstance(node, ast.Call) and called(node) == name]
        if calls:
            yield function, calls


def called(call: ast.Call) -> str:
    function = call.func
    return function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")


def strings(node: ast.AST) -> set[str]:
    return {item.value for item in ast.walk(node) if isinstance(item, ast.Constant) and isinstance(item.value, str)}


def docstrings(tree: ast.Module) -> set[str]:
    holders = [node for node in ast.walk(tree) if isinstance(node, ast.Module | ast.FunctionDef | ast.ClassDef)]
    return {text for holder in holders if (text := ast.get_docstring(holder, clean=False)) is not None}


def emitted() -> dict[str, ast.FunctionDef]:
    """Return every code of a warning with the function that emits it.

    A code that is not written in the call itself is one of the hyphenated words of the function that chooses it.
    """
    found: dict[str, ast.FunctionDef] = {}
    for function, calls in functions_that_call("Warn"):
        for call in calls:
            code = call.args[0]
            codes = strings(code) or {string for string in strings(function) if KEBAB.fullmatch(string)}
            assert codes, f"no code is found in {function.name}"
            found |= dict.fromkeys(codes, function)
    return found


EMITTED = emitted()
DOCUMENTED = dict(re.findall(r"^### (\S+)\n(.*?)(?=^##|\Z)", section("Warnings"), re.MULTILINE | re.DOTALL))


def test_every_warning_has_its_heading_and_no_heading_is_stale():
    assert list(DOCUMENTED) == sorted(EMITTED)


@pytest.mark.parametrize("code", sorted(EMITTED))
def test_a_warning_is_quoted_in_the_words_that_are_printed_and_has_a_remedy(code: str):
    quoted = " ".join(re.findall(r"^> (.*)$", DOCUMENTED[code], re.MULTILINE))
    printed = [string.strip(" ,.;:") for string in strings(EMITTED[code]) if len(string.split()) > 1]
    assert any(item in quoted for item in printed), (quoted, printed)
    assert "*Remedy:*" in DOCUMENTED[code]


def test_every_column_is_explained_in_the_order_of_the_table():
    headings = [var.heading for var in vars(rows).values() if isinstance(var, Column)]
    (columns,) = tables(section("Columns"))
    documented = [first_cell.removesuffix(" [95 %]") for first_cell in first_cells(columns)]
    assert sorted(documented) == sorted([*headings, "speedup"])
    for name in ("example", "tails", "warnings"):
        table = (ROOT / f"tests/golden/table-{name}-100.txt").read_text().splitlines()
        head = next(line for line in table if line.startswith(" backend"))
        places = [head.index(f" {item}") for item in documented if f" {item}" in head]
        assert places == sorted(places)


def test_every_verdict_and_every_state_is_explained():
    (verdicts,) = tables(section("Verdicts"))
    assert sorted(first_cells(verdicts)) == sorted(get_args(Verdict))
    states, _ = tables(section("Rows without figures"))
    assert sorted(first_cells(states)) == sorted(get_args(State))


def test_every_stage_at_which_a_row_can_fail_is_explained():
    stages: set[str] = set()
    for name, position in STAGE_ARGUMENTS.items():
        for _, calls in functions_that_call(name):
            found = [call.args[position] for call in calls if len(call.args) > position]
            stages |= {string for stage in found if isinstance(stage, ast.Constant) for string in strings(stage)}
    _, documented = tables(section("Rows without figures"))
    assert sorted(first_cells(documented)) == sorted(stages)


def test_every_reason_to_stop_is_explained_in_the_words_that_are_printed():
    _, stopped, _ = tables(section("Below the table"))
    assert {row[1].strip("`"): row[0].strip("`") for row in stopped} == sentences._STOPPED
    assert {row[1].strip("`") for row in stopped} == set(get_args(StoppedBy))


@pytest.mark.parametrize(
    "module", ["render/sentences.py", "stats/marks.py", "stats/notes.py", "cli/native_precision.py"]
)
def test_every_phrase_above_below_and_beside_the_rows_is_explained(module: str):
    tree = ast.parse((HARNESS / module).read_text())
    spoken = strings(tree) - docstrings(tree)
    phrases = [" ".join(item.split()).rstrip(",") for item in spoken if len(item.split()) > 1]
    assert phrases
    # a name stands for whatever a template puts in its place
    named = [phrase.replace("{leader}", "A").replace("{rival}", "B") for phrase in phrases]
    assert [item for item in named if item not in FLAT] == []


def test_every_exit_code_is_explained():
    (codes,) = tables(section("Exit codes"))
    assert set(first_cells(codes)) == {str(int(item)) for item in ExitCode} | {"70"}


def test_every_field_of_the_document_is_named():
    tables_of = tables(section("JSON and CSV"))[:3]
    named = [{name for row in table for name in re.findall(r"`(\w+)`", row[0])} for table in tables_of]
    assert named == [set(item.__dataclass_fields__) for item in (RunDocument, GroupResult, CellResult)]


def test_every_setting_that_is_said_to_be_read_back_is_named_by_its_backend():
    *_, effective = tables(section("JSON and CSV"))
    for backends, fields, _ in effective:
        package = f"irbench_{backends.strip('`').split('`')[0].partition('-')[0]}"
        source = "".join(path.read_text() for path in (ROOT / "backends" / package).glob("*.py"))
        for field in re.findall(r"`(\w+)`", fields):
            assert field in source or (field.endswith("_nodes") and "_nodes" in source), field


def test_an_example_from_a_golden_file_is_what_that_file_holds():
    examples = re.findall(r"<!-- (tests/golden/\S+) -->\n```text\n(.*?)```", TEXT, re.DOTALL)
    assert examples
    for path, shown in examples:
        assert shown == (ROOT / path).read_text(), path
