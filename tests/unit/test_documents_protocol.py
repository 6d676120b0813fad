"""docs/protocol.md states the numbers that are in force."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import fields
from pathlib import Path

import pytest
from simulation import tables
from simulation.regimes import DEPENDENT, REGIMES

from irbench.core.output_check import TOLERANCES
from irbench.core.record import BlockEvidence, Evidence
from irbench.requests import run_requests as requests
from irbench.spec import Timing

DOCS = Path(__file__).parents[2] / "docs"
TEXT = (DOCS / "protocol.md").read_text()


def rows(text: str, head: str) -> list[list[str]]:
    """Return the cells of the table that begins with this line."""
    body = text.partition(f"{head}\n")[2].partition("\n\n")[0].splitlines()[1:]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in body]


def count(least: int, most: int) -> str:
    return str(most) if least == most else f"{least} to {most}"


def in_words(timing: Timing) -> list[str]:
    return [
        count(timing.min_launches, timing.max_launches),
        str(timing.blocks),
        str(timing.max_blocks),
        f"{100 * timing.target:g} %",
        f"{timing.budget:g} s",
    ]


def test_each_preset_is_described_as_it_is():
    columns = list(zip(*rows(TEXT, "| | default | `--quick` | `--thorough` |"), strict=True))[1:]
    assert [list(column) for column in columns] == [
        in_words(item) for item in (Timing(), requests.QUICK, requests.THOROUGH)
    ]


@pytest.mark.parametrize(("head", "evidence"), [("| of a round | |", Evidence), ("| of a block | |", BlockEvidence)])
def test_everything_that_is_read_from_the_kernel_is_described(head: str, evidence: type):
    described = {name for row in rows(TEXT, head) for name in re.findall(r"`(\w+)`", row[0])}
    assert described == {field.name for field in fields(evidence)} - {"block"}


def test_the_tolerances_are_those_that_are_applied():
    described = rows(TEXT, "| precision | largest max err that passes |")
    assert {precision: float(limit) for precision, limit in described} == TOLERANCES


def test_every_warning_is_named_once_and_led_to_where_it_is_explained():
    described = [row[0] for row in rows(TEXT, "| code | meaning |")]
    explained = re.findall(r"^### (\S+)$", (DOCS / "reading-results.md").read_text(), re.MULTILINE)
    assert described == [f"[{code}](reading-results.md#{code})" for code in explained]


@pytest.mark.parametrize(("head", "named"), [("regime", REGIMES), ("dependent launches", ["independent", *DEPENDENT])])
def test_every_simulated_regime_has_its_figures(head: str, named: Iterable[str]):
    (line,) = re.findall(rf"^\| {head} .*$", TEXT, re.MULTILINE)
    assert [row[0] for row in rows(TEXT, line)] == list(named)


@pytest.mark.slow
@pytest.mark.long
@pytest.mark.parametrize("table", [tables.regimes, tables.dependence])
def test_the_simulated_figures_are_what_the_simulation_gives(table: Callable[[int], str]):
    assert table(4000) in TEXT


@pytest.mark.slow
@pytest.mark.long
def test_the_misses_at_any_look_are_what_the_simulation_gives():
    assert tables.any_time(200_000) in TEXT
