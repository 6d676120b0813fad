"""What a search tries besides fp32 where a limit says what is good enough."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from irbench.features.tune.options import TuneOptions
from irbench.features.tune.tuning_rows import SearchedValues, with_narrow_precisions
from irbench.options.run import RunOptions
from irbench.requests import probes
from irbench.spec import Artifact, Bundle, Cell, Load
from irbench.spi import Availability, Description

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
