"""A function of the user's that generates faster than every decoder row is named, with what to try."""

from dataclasses import replace
from pathlib import Path

import launches
import numpy as np
import pytest

from irbench.core.record import LaunchRecord
from irbench.notices.notes import OwnGenerateFaster
from irbench.spec import Artifact, Cell, Io, Program, Timing
from irbench.stats.eligibility import Admission
from irbench.stats.summary import summarise

MS = 1_000_000
NEW = 4
OWN = Program("callable", "texts.py:generate")


def decoder(name: str, variant: str = "", io: Io = "copy") -> Cell:
    graph = Artifact("onnx", Path("decoder.onnx"), (), (), variant=variant)
    return replace(launches.group(name).cells[0], artifact=graph, io=io)


def notes(times_ms: dict[str, float], decoders: tuple[Cell, ...], count: int = 8) -> list[OwnGenerateFaster]:
    own = replace(launches.group("own").cells[0], program=OWN)
    asked = replace(launches.group(*times_ms), cells=(*decoders, own), baseline=decoders[0].id)
    records = [launch(number, times_ms) for number in range(count)]
    table = summarise(asked, records, Timing(burn_in_blocks=0), Admission(), stopped_by="target", seconds=60.0)
    return [note for note in table.notes if isinstance(note, OwnGenerateFaster)]


def launch(number: int, times_ms: dict[str, float]) -> LaunchRecord:
    cells = []
    for name, ms in times_ms.items():
        taken_ns = round(ms * (1 + 0.002 * (number % 3)) * MS)
        rounds = [launches.synchronous(block, [taken_ns] * 3) for block in range(5)]
        moments = np.arange(1, NEW + 1) * (taken_ns // NEW)
        if name != "own":
            rounds = [replace(round_, part_ns=np.tile(moments, 3)) for round_ in rounds]
        facts = {"precision": "fp32", "threads": 2, **({"new_tokens": NEW} if name == "own" else {})}
        cells.append(launches.measured(name, rounds, effective=facts))
    return launches.launch(number, cells)


def test_a_function_faster_than_every_decoder_is_noted_against_the_fastest_of_them() -> None:
    (note,) = notes({"slow": 20.0, "fast": 15.0, "own": 10.0}, (decoder("slow"), decoder("fast")))
    assert (note.cell, note.decoder, note.new_tokens) == ("own", "fast", NEW)
    assert note.value == pytest.approx(1.5, rel=0.01)
    assert 1 < note.low <= note.value <= note.high
    assert (note.copies_caches, note.is_optimized) == (True, False)


def test_what_was_tried_already_is_not_suggested() -> None:
    (note,) = notes({"fused": 20.0, "own": 10.0}, (decoder("fused", "extended", "bound"),))
    assert (note.copies_caches, note.is_optimized) == (False, True)


def test_a_function_slower_than_some_decoder_is_not_noted() -> None:
    assert notes({"slow": 20.0, "fast": 9.0, "own": 10.0}, (decoder("slow"), decoder("fast"))) == []


def test_what_too_few_launches_suggest_is_not_noted() -> None:
    assert notes({"slow": 20.0, "own": 10.0}, (decoder("slow"),), count=2) == []
