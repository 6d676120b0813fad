"""A search has only those settings that keep the limit, and tells the best of the others."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import launches
import pytest

from irbench.core.record import Failure
from irbench.errors import IrbenchError
from irbench.features.tune import tuning_rows
from irbench.features.tune.options import TuneOptions
from irbench.features.tune.search_space import SearchSpace
from irbench.features.tune.tuning_rows import (
    SearchedValues,
    TuningRows,
    excluded,
    searched_values,
    with_narrow_precisions,
    within_accuracy,
)
from irbench.options.run import RunOptions
from irbench.requests import probes
from irbench.runner.plan import PlannedGroup
from irbench.runner.request import RunRequest
from irbench.spec import Accuracy, AccuracyLimit, Artifact, Bundle, Cell, Load
from irbench.spi import Availability, Description
from irbench.system.confinement import Confinement
from irbench.worker import requested_confinement

LIMIT = AccuracyLimit(0.99)
GROUP = launches.group("fp32", "bf16", "int8", "default", "unused")
CELLS = {cell.id: cell for cell in GROUP.cells}
ROWS = TuningRows(
    request=RunRequest((), (), accuracy=LIMIT),
    planned=PlannedGroup(GROUP),
    space=SearchSpace((CELLS["fp32"], CELLS["bf16"], CELLS["int8"]), 2),
    defaults=(CELLS["default"],),
    hints=(),
)


def kept(monkeypatch: pytest.MonkeyPatch, values: Mapping[str, float | None]) -> TuningRows:
    """Return the rows of a search whose rows have these accuracies; one without any failed."""

    def checked(_request: RunRequest, groups: tuple[PlannedGroup, ...], *_: object) -> tuple[PlannedGroup, ...]:
        (planned,) = groups
        found = {cell: None if value is None else Accuracy(value, LIMIT, 100) for cell, value in values.items()}
        cells = tuple(replace(cell, accuracy=found[cell.id]) for cell in planned.group.cells)
        out = {cell: Failure("accuracy", "why") for cell, own in found.items() if own is None or own.value < 0.99}
        return (replace(planned, group=replace(planned.group, cells=cells), absent=out),)

    monkeypatch.setattr(tuning_rows, "with_accuracy", checked)
    return within_accuracy(ROWS, Path(), lambda _line: None)


def test_settings_that_miss_the_limit_are_not_searched(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = kept(monkeypatch, {"fp32": 1.0, "bf16": 0.98, "int8": 0.7, "default": 1.0})
    assert rows.space.ids == ("fp32",)
    assert [cell.accuracy.value for cell in rows.space.cells if cell.accuracy is not None] == [1.0]
    assert [cell.id for cell in rows.defaults] == ["default"]


def test_the_best_of_what_is_not_searched_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    found = excluded(kept(monkeypatch, {"fp32": 1.0, "bf16": 0.98, "int8": None, "default": 1.0}))
    assert found is not None
    assert (found.settings, found.combinations, found.failed) == (2, 2, 1)
    assert found.best is not None
    assert (found.best.row, found.best.accuracy) == ("bf16", 0.98)


def test_nothing_is_excluded_without_a_limit() -> None:
    free = replace(ROWS, request=replace(ROWS.request, accuracy=None))
    assert within_accuracy(free, Path(), lambda _line: None) is free
    assert excluded(free) is None


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ({"fp32": 1.0, "bf16": 1.0, "int8": 1.0, "default": 0.9}, "default without any option has 90 %"),
        ({"fp32": 1.0, "bf16": 1.0, "int8": 1.0, "default": None}, "why"),
        ({"fp32": 0.9, "bf16": 0.9, "int8": 0.9, "default": 1.0}, "No setting keeps top-1 agreement at least 99 %"),
    ],
    ids=["the default misses it", "the default fails", "every setting misses it"],
)
def test_a_limit_that_leaves_nothing_is_refused(
    monkeypatch: pytest.MonkeyPatch, values: Mapping[str, float | None], said: str
) -> None:
    with pytest.raises(IrbenchError, match=said):
        kept(monkeypatch, values)


GRAPH = Artifact("onnx", Path("net.onnx"), (), (), precision="fp32")
RUN = RunOptions(models=("net.onnx",), backends=("fake-a", "fake-b"), min_accuracy=0.99)
TRIED = SearchedValues(None, (1,), (1,), ("native",), ("none", "int8"), 2, {})


@pytest.fixture(autouse=True)
def machine(monkeypatch: pytest.MonkeyPatch) -> None:
    """One backend computes in bf16 here, and the other in fp32 alone."""

    def found(description: Description) -> Availability:
        known = ("fp32", "bf16") if description.name == "fake-b" else ("fp32",)
        return Availability(("cpu",), {"cpu": known}, {"cpu": "fp32"}, {})

    monkeypatch.setattr(probes, "remembered", found)


def searched(run: RunOptions = RUN, precision: str = "fp32", **options: Any) -> TuneOptions:
    bundle = Bundle("net", (), (replace(GRAPH, precision=precision),))
    return with_narrow_precisions(TuneOptions("net.onnx", **options), run, bundle)


def test_a_limit_lets_a_search_try_int8_and_what_a_backend_computes_in() -> None:
    found = searched()
    assert found.run.precision == ("fp32", "bf16")
    assert found.optimize == ("none", "extended", "int8")


def test_a_search_stays_with_fp32_without_a_limit() -> None:
    found = searched(replace(RUN, min_accuracy=None))
    assert (found.run.precision, found.optimize) == (None, None)


GPU_OPTIONS = {"cuda.cudnn_conv_algo_search", "cuda.prefer_nhwc"}


def tried(*backends: str, **given: Any) -> SearchedValues:
    run = replace(RUN, backends=backends, **given)
    return searched_values(TuneOptions("net.onnx"), run, 4, has_batches=True, reads_onnx=True)


@pytest.mark.parametrize(("io", "added"), [("copy", set()), ("bound", {"cuda.enable_cuda_graph"})])
def test_a_search_on_a_gpu_tries_its_options_and_no_host_threads(io: str, added: set[str]) -> None:
    found = tried("ort:cuda", io=io)
    assert found.threads == ("native",)
    assert found.streams == (1, 2, 4)
    assert {key for options in found.varied["ort:cuda"] for key in options} == GPU_OPTIONS | added


def test_rows_on_a_gpu_and_on_the_cpu_are_searched_with_options_and_threads_of_their_own() -> None:
    found = tried("ort", "ort:cuda")
    on_cpu, on_gpu = {"intra_op.allow_spinning": "0"}, {"cuda.prefer_nhwc": "1"}
    asked = [
        ("cpu", 1, on_cpu),
        ("cpu", 1, on_gpu),
        ("cuda", None, on_gpu),
        ("cuda", 1, on_gpu),
        ("cuda", None, on_cpu),
    ]
    kept = [
        found.has(Cell("row", GRAPH, "ort", device, Load(threads=threads, varied=options)))
        for device, threads, options in asked
    ]
    assert kept == [True, False, True, False, False]


def test_threads_that_the_user_gave_are_tried_on_a_gpu_too() -> None:
    assert tried("ort:cuda", threads=(1, 2)).threads == (1, 2)
    assert tried("ort:cuda", threads=(1, 2)).gpus == frozenset()


def test_no_graph_is_converted_where_no_backend_reads_onnx() -> None:
    assert searched(replace(RUN, backends=("tf",))).optimize is None


def test_what_the_user_gave_stays() -> None:
    found = searched(replace(RUN, precision=("fp32",)), optimize=("none",))
    assert (found.run.precision, found.optimize) == (("fp32",), ("none",))


def test_a_graph_that_is_narrow_already_is_searched_as_it_is() -> None:
    found = searched(precision="fp16")
    assert (found.run.precision, found.optimize) == (None, None)


@pytest.mark.parametrize(
    ("variant", "is_searched"),
    [("", True), ("basic-int8", True), ("basic-int8-static", True), ("basic", False), ("extended-int8", False)],
)
def test_a_level_is_searched_by_the_name_that_it_was_asked_for_with(variant: str, is_searched: bool) -> None:
    row = Cell("row", replace(GRAPH, variant=variant), "ort", "cpu", Load(threads=None))
    assert TRIED.has(row) is is_searched


def test_the_worker_that_compiles_a_model_for_advice_is_confined_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[Any] = []

    def call(*_: object, confinement: Confinement | None = None, **__: object) -> int:
        asked.append(confinement)
        return 4

    row = Cell("a", Artifact("tf-graph", tmp_path / "graph.pb", (), ()), "openvino", "cpu", Load())
    monkeypatch.setenv("IRBENCH_CONFINE", "1")
    monkeypatch.setattr(requested_confinement, "require_confinement", lambda: None)
    monkeypatch.setattr(tuning_rows, "requested", lambda _: None)
    monkeypatch.setattr(tuning_rows, "planned", lambda *_: (None, [SimpleNamespace(measured=[row])]))
    monkeypatch.setattr(tuning_rows, "call_in_worker", call)
    assert tuning_rows.streams_advised(RunOptions(), {"hint": "throughput"}, tmp_path) == 4
    assert asked == [Confinement((tmp_path / "graph.pb",), for_runtime=True)]
