"""``irbench profile --counters`` through its front door, with scripted backends and a scripted perf."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import fake_perf
import models
import pytest
from front_door import Called, irbench

import irbench as public
from irbench.core.graph_record import Uncuttable
from irbench.errors import IrbenchError
from irbench.features.profile.counters import counted_launches
from irbench.features.profile.counters import counted_launches as counted_parts
from irbench.measure import counter_support
from irbench.perf_events.topdown import Processor

pytestmark = pytest.mark.usefixtures("known_backends")

WEIGHTS = "Conv:17+Gemm:4"


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return models.mlp(tmp_path_factory.mktemp("model")).path


@pytest.fixture
def perf(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Return what installs a scripted perf, on a processor with counters unless told otherwise."""

    def install(*, has_pmu: bool = True, toplev: bool = False, **script: Any) -> Path:
        monkeypatch.setattr(counter_support, "read_processor", lambda: Processor(has_pmu=has_pmu))
        return fake_perf.install(tmp_path / "perf", script, monkeypatch, toplev=toplev)

    return install


def profiled(
    model: Path,
    counters: str,
    *arguments: object,
    form: str = "json",
    backends: str = "fake-a",
    weights: str = WEIGHTS,
) -> Called:
    return irbench(
        "profile", model, "--backends", backends, "--counters", counters, "--launches", 1, "--format", form,
        "--set", f"fake-a.weights={weights}", *arguments,
    )  # fmt: skip


def parts(called: Called) -> dict[str, dict[str, Any]]:
    found = called.document["counters"]["parts"]
    return {",".join(part["nodes"]) or part["kind"]: part for part in found}


@pytest.mark.ci
def test_operators_are_counted_as_models_of_their_own_beside_the_whole_model(
    model: Path, perf: Any, tmp_path: Path
) -> None:
    calls = perf(events={**fake_perf.SOFTWARE, **fake_perf.HARDWARE}, metrics={"TopdownL1": fake_perf.TOPDOWN_L1})
    called = profiled(model, "topdown,cache", "--results", tmp_path / "results")
    assert called.code == 0, called.err
    found = parts(called)
    assert list(found)[:2] == ["model", "call"]
    assert {"conv", "relu", "pool", "flatten", "softmax"} <= set(found)
    assert "dense_layer" not in found  # the convolution is more than four fifths of its class
    for part in found.values():
        (launch,) = part["launches"]
        assert set(launch["phases"]) == {"import", "compile", "warm_up", "inference"}
        assert launch["phases"]["inference"]["inferences"] > 0
    assert sum("-p" in line.split() for line in calls.read_text().splitlines()) == 4 * len(found)
    profile = public.load_profile(results=tmp_path / "results")
    (matrix,) = (row for row in profile.counters if row.operator_class == "matrix")
    figures = {figure.name: figure.value for figure in matrix.figures}
    assert figures["ipc"] == pytest.approx(2.5)
    assert figures["backend_bound"] == pytest.approx(0.432)
    assert matrix.counted_share == pytest.approx(17 / 21, abs=0.001)
    table = irbench("profile", "--show", "latest", "--results", tmp_path / "results").out
    assert "instructions per cycle" in table
    assert "81 %, 1 operator" in table


@pytest.mark.slow
def test_deeper_levels_have_cycles_as_weights_of_the_models_of_a_class(model: Path, perf: Any, tmp_path: Path) -> None:
    perf(toplev=True, events=fake_perf.HARDWARE)
    results = tmp_path / "results"
    called = profiled(model, "topdown-l2", "--results", results, weights="Conv:10+Gemm:10")
    assert called.code == 0, called.err
    (matrix,) = (row for row in public.load_profile(results=results).counters if row.operator_class == "matrix")
    figures = {figure.name: figure.value for figure in matrix.figures}
    assert matrix.models == 2
    assert figures["Frontend_Bound.Fetch_Latency"] == pytest.approx(0.125)
    assert figures["cycles"] is not None


@pytest.mark.ci
def test_a_part_is_given_the_values_that_it_has_in_the_whole_model(model: Path, perf: Any) -> None:
    perf()
    called = profiled(model, "software", "--set", "fake-a.profile=fused")
    assert called.code == 0, called.err
    assert "conv,relu" in parts(called)


@pytest.mark.parametrize(
    ("script", "counters", "told"),
    [
        ({"version": ""}, "software", "no working perf was found"),
        ({"has_pmu": False}, "cache", "no counters of the processor"),
        ({"refused": {"nonsense": fake_perf.UNKNOWN}}, "nonsense", "no such event"),
    ],
)
def test_what_cannot_be_counted_is_refused_before_anything_is_measured(
    model: Path, perf: Any, tmp_path: Path, script: dict[str, Any], counters: str, told: str
) -> None:
    perf(**script)
    called = profiled(model, counters, "--results", tmp_path / "results")
    assert called.code == 2
    assert told in called.err
    assert not (tmp_path / "results").exists()


@pytest.mark.ci
def test_a_perf_that_cannot_attach_leaves_the_profile_and_its_reason(model: Path, perf: Any) -> None:
    perf(dies="Problems finding threads of monitor")
    called = profiled(model, "software", form="table")
    assert called.code == 3
    assert "fake-a spends" in called.out
    assert "Problems finding threads" in " ".join(called.out.split())


@pytest.mark.ci
def test_each_backend_keeps_why_its_operators_could_not_be_cut_out_and_its_whole_model_is_counted(
    model: Path, perf: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    perf()

    def refuse(*given: Any) -> Any:
        raise IrbenchError(f"no values in {given[-1].name}")

    monkeypatch.setattr(counted_launches, "cut_kinds", refuse)
    called = profiled(model, "software", backends="fake-a,fake-b")
    assert called.code == 3
    found = called.document["counters"]
    assert sorted(failure["message"] for failure in found["failures"].values()) == ["no values in 0", "no values in 1"]
    assert [part["kind"] for part in found["parts"]] == ["model", "model"]


@pytest.mark.ci
def test_a_backend_that_runs_no_graph_which_can_be_cut_has_its_whole_model_alone(
    model: Path, perf: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    perf()
    monkeypatch.setattr(counted_launches.CellToCount, "source", None)
    called = profiled(model, "software")
    assert called.code == 0, called.err
    assert called.document["counters"]["whole_only"] == [cell["id"] for cell in called.document["cells"]]
    assert list(parts(called)) == ["model"]


@pytest.mark.ci
def test_operators_that_cannot_be_cut_out_keep_the_reason(
    model: Path, perf: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    perf()
    original = counted_launches.cut_kinds
    monkeypatch.setattr(
        counted_launches, "cut_kinds", lambda *given: (Uncuttable("no-tensor", "v"), *original(*given)[1:])
    )
    called = profiled(model, "software")
    assert called.code == 0, called.err
    uncut = [part for part in parts(called).values() if part["uncuttable"] is not None]
    assert [(part["uncuttable"], part["launches"]) for part in uncut] == [({"reason": "no-tensor", "value": "v"}, [])]
    assert all(part["launches"] for part in parts(called).values() if part["uncuttable"] is None)


@pytest.mark.ci
def test_ctrl_c_keeps_the_profile_and_what_was_counted(
    model: Path, perf: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    perf()
    original, taken = counted_parts.count_cell, list[object]()

    def interrupt_the_third(*given: Any) -> Any:
        taken.append(given)
        if len(taken) > 2:
            raise KeyboardInterrupt
        return original(*given)

    monkeypatch.setattr(counted_parts, "count_cell", interrupt_the_third)
    called = profiled(model, "software", "--results", tmp_path)
    assert called.code == 130
    assert called.document["stopped_by"] == "interrupt"
    assert called.document["cells"][0]["launches"]
    assert [kind for kind, part in parts(called).items() if part["launches"]] == ["model", "call"]
    assert public.load_profile(results=tmp_path).document.counters is not None


@pytest.mark.slow
def test_python_has_the_same(model: Path, perf: Any, tmp_path: Path) -> None:
    perf()
    found = public.profile(
        model, backends="fake-a", counters="software", launches=1, results=tmp_path, progress=None
    )  # fmt: skip
    kinds = {row.kind for row in found.counters}
    assert kinds == {"operators", "call", "model"}
    assert {figure.name for row in found.counters for figure in row.figures} == set(fake_perf.SOFTWARE)
