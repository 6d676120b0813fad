"""Energy in tables: figures, what they are of, and what was taken off."""

from __future__ import annotations

from documents import cell, group

from irbench.core.row import CellResult, EnergyUse
from irbench.notices import Context
from irbench.render.footer import footer
from irbench.render.group import GroupView

PACKAGE = {"package-0": 40.0, "dram-0": 10.0}


def using(name: str, joules: float, above: float | None, **domains: float) -> CellResult:
    idle = None if above is None else 9.8
    return cell(name, energy=EnergyUse(joules, above, 50.0, idle, {**PACKAGE, **domains}))


def shown(*rows: CellResult) -> str:
    return "\n".join(line.plain for line in GroupView(group(*rows)).as_lines(160))


def figures(row: CellResult) -> list[str]:
    """Return what a row shows behind its throughput: J/inference, above idle, W."""
    (heading, line, *_) = (
        line for line in shown(row, using("tf", 0.8, 0.7)).splitlines() if line.startswith((" backend", " ort"))
    )
    begin, end = heading.index("J/inference"), heading.index(" W ") + 2
    return line[begin - 2 : end].split()


def test_energy_above_idle_has_no_more_decimals_than_what_it_is_a_part_of() -> None:
    assert figures(using("ort", 0.0083, -0.0000668)) == ["0.00830", "-0.00007", "50.0"]


def test_what_was_not_measured_is_no_zero() -> None:
    assert figures(cell("ort")) == ["-", "-", "-"]
    assert figures(using("ort", 0.5, None)) == ["0.500", "-", "50.0"]


def test_a_table_names_the_counters_and_the_power_of_the_idle_machine() -> None:
    text = shown(using("ort", 0.5, 0.4), using("tf", 0.8, 0.7)).replace("\n", " ")
    assert "J/inference: of package-0 and dram-0, each row alone" in text
    assert "above idle: without the 9.80 W of the idle machine" in text
    assert " J/inference  above idle     W " in text


def test_a_counter_that_belongs_to_rows_on_gpus_alone_is_named_as_such() -> None:
    rows = (using("ort", 0.5, None), using("tf", 0.8, None, **{"gpu-0": 70.0}))
    below = " ".join(footer(group(*rows), Context()))
    assert "J/inference: of package-0, dram-0 and gpu-0 (rows on an NVIDIA GPU), each row alone" in below
    assert "above idle" not in below


def test_a_table_without_energy_has_none_of_these_columns() -> None:
    assert "J/inference" not in shown(cell("ort"), cell("tf"))
