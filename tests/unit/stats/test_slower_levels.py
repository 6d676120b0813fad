"""A level that makes a model slower on its backend is named, also where the table's baseline is another row."""

from dataclasses import replace
from pathlib import Path

from launches import even, group

from irbench.core.record import LaunchRecord
from irbench.notices import Note
from irbench.spec import Artifact, Cell, Group, Timing
from irbench.stats.eligibility import Admission
from irbench.stats.summary import summarise

TIMING = Timing(burn_in_blocks=0)
LEVELS_MS = {"ort": 10.0, "ort+all": 11.0, "openvino": 8.0, "openvino+basic": 7.0, "openvino+all": 9.0}


def graph(variant: str) -> Artifact:
    return Artifact("onnx", Path("model.onnx"), (), (), variant=variant)


def row(name: str, **changes: object) -> Cell:
    backend, _, variant = name.partition("+")
    return replace(group(name).cells[0], backend=backend, artifact=graph(variant), **changes)


def asked(*cells: Cell, baseline: str = "ort") -> Group:
    return replace(group(*LEVELS_MS), cells=cells or tuple(map(row, LEVELS_MS)), baseline=baseline)


def scattered(levels_ms: dict[str, float], launches: int = 8, spread: float = 0.002) -> list[LaunchRecord]:
    return even({name: [ms * (1 + spread * (at % 3)) for at in range(launches)] for name, ms in levels_ms.items()})


def notes(of: Group, records: list[LaunchRecord]) -> tuple[Note, ...]:
    return summarise(of, records, TIMING, Admission(), stopped_by="target", seconds=60.0).notes


def test_a_level_slower_than_the_exported_graph_of_its_backend_is_noted():
    (note,) = notes(asked(), scattered(LEVELS_MS))
    assert note.code == "slower-than-exported"
    assert (note.cell, note.exported) == ("openvino+all", "openvino")
    assert note.low <= note.value <= note.high < 1


def test_beside_the_baseline_the_speedup_says_it_and_no_note_repeats_it():
    found = notes(asked(baseline="openvino"), scattered(LEVELS_MS))
    assert [note.cell for note in found] == ["ort+all"]


def test_what_too_few_launches_suggest_is_not_noted():
    assert notes(asked(), scattered(LEVELS_MS, launches=2)) == ()


def test_what_is_slower_by_less_than_matters_is_not_noted():
    assert notes(asked(), scattered({**LEVELS_MS, "openvino+all": 8.01}, spread=0.0005)) == ()


def test_rows_that_differ_in_more_than_the_graph_are_not_compared():
    cells = [row(name) for name in LEVELS_MS if name != "openvino+all"]
    streamed = row("openvino+all")
    other = replace(streamed, load=replace(streamed.load, threads=1))
    assert notes(asked(*cells, other), scattered(LEVELS_MS)) == ()
