"""``irbench profile`` through its front door, with scripted backends."""

from __future__ import annotations

import csv
import io
import json
import os
import shlex
from dataclasses import replace
from pathlib import Path
from typing import Any

import models
import profiles
import pytest
from front_door import Called, irbench
from made_peaks import peaks

import irbench as public
from irbench.across_runs.differences import fingerprint
from irbench.errors import IrbenchError
from irbench.features.profile import launches as profiling
from irbench.features.profile.profile_document import Disturbance, ProfileDocument, encode_profile
from irbench.roofline import BandwidthSamples
from irbench.runner.run_progress import Progress
from irbench.store import bundles
from irbench.store.kept_peaks import keep_peaks
from irbench.system import host

pytestmark = pytest.mark.usefixtures("known_backends")

WEIGHTS = "Conv:16+Gemm:4"


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return models.mlp(tmp_path_factory.mktemp("model")).path


def options(backend: str, **settings: str) -> tuple[str, ...]:
    return tuple(word for key, value in settings.items() for word in ("--set", f"{backend}.{key}={value}"))


def profiled(model: Path, backends: str, *arguments: object) -> Called:
    return irbench("profile", model, "--backends", backends, "--launches", 1, *arguments)


@pytest.fixture(scope="module")
def two(model: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[dict[str, Any], Path]:
    """The document of two backends, one of which adds reorders, and where it is stored."""
    results = tmp_path_factory.mktemp("results")
    called = profiled(
        model, "fake-a,fake-b", "--format", "json", "--results", results,
        *options("fake-a", call_us="20000", weights=WEIGHTS, profiling_us="1000"),
        *options("fake-b", call_us="10000", weights=WEIGHTS, profile="layout+fused"),
    )  # fmt: skip
    assert called.code == 0, called.err
    assert "stored in" in called.err
    return called.document, results


def shown(results: Path, *arguments: object) -> str:
    called = irbench("profile", "--show", "latest", "--results", results, *arguments)
    assert called.code == 0, called.err
    return called.out


def test_the_document_has_each_operator_with_its_nodes_and_both_latencies(two: tuple[dict[str, Any], Path]) -> None:
    document, _ = two
    a, b = document["cells"]
    assert [operator["nodes"] for operator in a["operators"]][:2] == [["conv"], ["relu"]]
    assert ["conv", "relu"] in [operator["nodes"] for operator in b["operators"]]
    (launch,) = a["launches"]
    assert len(launch["profiled_ns"]) >= 20
    assert {round(latency / 1e6) for latency in launch["profiled_ns"]} == {21}
    assert {round(latency / 1e6) for latency in launch["plain_ns"]} == {20}
    seen = launch["disturbance"]
    assert seen["wall_ns"] > 0
    assert seen["foreign_cpu_ns"] <= (os.cpu_count() or 1) * seen["wall_ns"]
    assert seen["processors"] >= 1
    assert document["graphs"]["none"][0]["flops"] > 0
    assert document["verified_against"] is not None


@pytest.mark.ci
def test_other_programs_are_among_the_warnings_of_the_document_and_said_once(
    model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(profiling, "disturbance_between", lambda *_: Disturbance(10**9, 4 * 10**8, 2))
    called = profiled(model, "fake-a", "--format", "json", "--results", tmp_path)
    assert called.code == 0, called.err
    (warning,) = called.document["warnings"]
    assert (warning["code"], warning["facts"]) == ("busy-machine", {"foreign_share": 0.4, "processors": 2})
    assert shown(tmp_path).count("warning: Other programs used 40 % of a processor.") == 1


@pytest.mark.ci
def test_known_peaks_are_stored_with_a_profile_and_give_shares_wherever_it_is_shown(
    model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    known = peaks(fingerprint(host.describe()))
    compute = tuple(replace(known.compute[0], threads=threads) for threads in range(1, 1 + (os.cpu_count() or 1)))
    keep_peaks(bundles.home(), replace(known, compute=compute, samples=(BandwidthSamples("L1d", 1, "read", ()),)))
    called = profiled(
        model, "fake-a", "--format", "json", "--results", tmp_path, *options("fake-a", call_us="20000", weights=WEIGHTS)
    )
    assert called.code == 0, called.err
    stored = called.document["peaks"]
    assert (stored["measured"], stored["samples"]) == (known.measured, [])
    monkeypatch.setenv("IRBENCH_HOME", str(tmp_path / "elsewhere"))
    assert "of peak" in shown(tmp_path)
    rows = list(csv.DictReader(io.StringIO(shown(tmp_path, "--format", "csv"))))
    shares = {row["operator_class"]: row["peak_share"] for row in rows}
    assert float(shares["matrix"]) > 0
    assert not any(share for name, share in shares.items() if name != "matrix")
    assert any(row.peak_share for row in public.load_profile(results=tmp_path).rows("node"))


def test_a_stored_profile_is_shown_again_in_every_form_and_is_no_run(two: tuple[dict[str, Any], Path]) -> None:
    document, results = two
    table = shown(results)
    assert "fake-a spends" in table
    assert "matrix, conv" in table
    assert "1.05x" in table
    assert json.loads(shown(results, "--format", "json")) == document
    rows = list(csv.DictReader(io.StringIO(shown(results, "--format", "csv"))))
    assert {row["label"] for row in rows} == {"fake-a", "fake-b"}
    assert shown(results, "--format", "md").startswith("### mlp")
    assert "conv +1" in shown(results, "--by", "node")
    listed = irbench("results", "--results", results)
    assert document["profile_id"] not in listed.out


def test_reorders_that_a_runtime_added_are_data_movement(two: tuple[dict[str, Any], Path]) -> None:
    found = public.load_profile(results=two[1])
    movement = {row.label: row for row in found.rows() if row.operator_class == "movement"}
    assert movement["fake-b"].time_ms > movement["fake-a"].time_ms
    reorders = [row for row in found.rows("op") if row.name == "Reorder"]
    assert [row.label for row in reorders] == ["fake-b"]


def shown_file(profile: ProfileDocument, folder: Path, *arguments: object) -> str:
    """Return what ``irbench profile --show FILE`` prints."""
    file = folder / "shown.json"
    file.write_bytes(encode_profile(profile))
    called = irbench("profile", "--show", file, *arguments)
    assert called.code == 0, called.err
    return called.out


def columns(table: str, name: str) -> list[str]:
    """Return the cells of a row behind its name."""
    (line,) = (line for line in table.splitlines() if line.startswith(f"{name}  "))
    return line.removeprefix(name).split()


def test_an_operator_is_called_as_its_runtime_calls_it_with_the_nodes_that_it_stands_for(tmp_path: Path) -> None:
    table = shown_file(profiles.fused_gelu(), tmp_path, "--by", "op").partition("GFLOP/s ")[0]
    assert columns(table, "BiasGelu (Add, Div, Erf, Mul)")[0] == "5.60"
    assert columns(table, "Add")[0] == "5.10"
    assert columns(table, "sum of operators") == ["30.7"]


def test_operators_of_several_backends_are_joined_by_their_nodes_and_the_fused_ones_stand_below(tmp_path: Path) -> None:
    table = shown_file(profiles.fused_gelu(has_other=True), tmp_path, "--by", "op").partition("GFLOP/s ")[0]
    assert columns(table, "MatMul")[::2] == ["20.0", "22.0"]
    assert columns(table, "· MatMul")[0] == "20.0"
    assert columns(table, "· FullyConnected (MatMul, Add, Div, Erf, Mul)")[:2] == ["-", "22.0"]
    assert columns(table, "Add")[::2] == ["5.10", "4.00"]
    assert columns(table, "BiasGelu (Add, Div, Erf, Mul)")[0] == "5.60"


@pytest.mark.parametrize("has_other", [False, True])
def test_rows_of_operators_have_the_runtimes_names_and_add_up_to_all(has_other: bool, tmp_path: Path) -> None:
    profile = profiles.fused_gelu(has_other=has_other)
    rows = list(csv.DictReader(io.StringIO(shown_file(profile, tmp_path, "--by", "op", "--format", "csv"))))
    own = {row["name"]: row for row in rows if row["label"] == "ort"}
    assert (own["BiasGelu"]["op_types"], own["Add"]["op_types"]) == ("Add Div Erf Mul", "Add")
    assert sum(float(row["time_ms"]) for row in own.values()) == pytest.approx(30.7)
    if has_other:
        (product,) = (row for row in rows if row["name"] == "FullyConnected")
        assert product["key"] == own["MatMul"]["key"]


def test_the_first_screen_names_operators_and_nodes_and_what_to_type_next(
    two: tuple[dict[str, Any], Path], tmp_path: Path
) -> None:
    table = shown_file(profiles.sines(), tmp_path)
    assert "91 % of its operators' time in elementwise operators (Sin 84 %)" in " ".join(table.split())
    _, _, nodes = table.partition("The nodes that take longest:")
    assert columns(nodes, "…/positional_block_0/value/Sin")[:2] == ["28.0", "28"]
    assert f"irbench profile --show {tmp_path / 'shown.json'} --by node\n" in table
    document, results = two
    (command,) = (line for line in shown(results).splitlines() if line.endswith(" --by op"))
    assert f"--show {document['profile_id']} --results {results} --by op" in command
    assert "ms by operator" in irbench(*shlex.split(command.removeprefix("Operators: "))[1:]).out
    assert "irbench profile --show" not in shown(results, "--by", "node")


def test_shortened_names_of_nodes_stay_different_in_every_table(tmp_path: Path) -> None:
    tables = shown_file(profiles.alike_names(), tmp_path, "--by", "node").split("GFLOP/s ")
    for table in (tables[0], *tables[1].split("The nodes that differ most")):
        names = [line.partition("  ")[0] for line in table.splitlines() if "/Tensordot/MatMul" in line]
        assert names == [f"…/transformer_layer_{number}/…/Tensordot/MatMul" for number in range(3)]


def test_every_class_that_takes_noticeable_time_has_its_speed_or_why_it_has_none(tmp_path: Path) -> None:
    speeds = shown_file(profiles.sines(), tmp_path).partition("GFLOP/s ")[2]
    assert columns(speeds, "elementwise") == ["<0.001", "0.00882"]
    several = shown_file(profiles.example(), tmp_path)
    assert columns(several.partition("GFLOP/s ")[2], "data movement") == ["-", "-", "-"]
    assert "No GFLOP/s of data movement: nothing is computed there that counts" in several


@pytest.mark.parametrize(("width", "hidden"), [(80, "±"), (60, "%")])
def test_four_backends_stand_in_one_table_with_fewer_columns(
    width: int, hidden: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", str(width))
    for by, heading in (("class", "ms  "), ("op", "ms by operator"), ("node", "ms by node")):
        lines = shown_file(profiles.four_backends(), tmp_path, "--by", by).splitlines()
        (first,) = (line for line in lines if line.startswith("sum of operators"))
        assert first.count("20.0") == 4
        assert any(line.startswith(heading) and line.split()[-1] in ("tf-xla", "%") for line in lines)
        assert f"hidden, the terminal is too narrow: {hidden}" in " ".join(lines)
        assert max(len(line) for line in lines if "irbench profile --show" not in line) <= width


def test_rows_are_a_frame_too(two: tuple[dict[str, Any], Path]) -> None:
    pytest.importorskip("pandas")
    frame = public.load_profile(two[0]["profile_id"][:20], results=two[1]).to_pandas("node")
    assert set(frame["label"]) == {"fake-a", "fake-b"}
    assert frame["share"].sum() == pytest.approx(2)


def test_a_trace_is_written_of_a_stored_profile_too(two: tuple[dict[str, Any], Path], tmp_path: Path) -> None:
    shown(two[1], "--trace", tmp_path / "trace.json")
    events = json.loads((tmp_path / "trace.json").read_text())["traceEvents"]
    assert {event["pid"] for event in events if event["ph"] == "X"} == {1, 2}


@pytest.mark.ci
def test_a_backend_that_fails_or_cannot_profile_is_a_reason_and_the_others_go_on(model: Path) -> None:
    called = profiled(
        model, "fake-a,fake-b,fake-c,fake-f", *options("fake-b", profile="none"), *options("fake-c", fault="wrong")
    )
    assert called.code == 1
    assert "fake-b: it records no operators. ask another backend" in called.out
    assert "fake-f: fake-f does not report how long operators take. Leave it out of --backends." in called.out
    assert "fake-c: " in called.out
    assert "fake-a spends" in called.out
    assert "dynamic shapes" not in called.out


@pytest.mark.ci
def test_names_that_are_lost_are_found_by_shape_and_said_to_be(model: Path) -> None:
    called = profiled(model, "fake-a", *options("fake-a", profile="nameless"))
    assert "joined by class and shape along the graph" in called.out
    assert "fake-a spends" in called.out


@pytest.mark.ci
def test_on_a_gpu_copies_kernels_and_the_wait_for_the_host_are_apart(model: Path) -> None:
    script = options("fake-e", call_us="20000", copy_us="1000", weights=WEIGHTS, profile="kernels")
    called = profiled(model, "fake-e:cuda", "--format", "json", *script)
    assert called.code == 0, called.err
    (cell,) = called.document["cells"]
    (launch,) = cell["launches"]
    assert {round(latency / 1e6) for latency in (*launch["profiled_ns"], *launch["plain_ns"])} == {22}
    gpu = launch["gpu"]
    assert (round(gpu["copy_in_ns"] / 1e6), round(gpu["copy_out_ns"] / 1e6)) == (1, 1)
    assert gpu["kernels_ns"] == pytest.approx(18e6, rel=0.01)
    table = " ".join(irbench("profile", "--show", "latest").out.split())
    assert "82 % in kernels, 5 % in copies to the GPU and 5 % in copies from it; for 9 % the GPU waits" in table


@pytest.mark.ci
def test_a_gpu_whose_kernels_nobody_records_is_profiled_as_far_as_is_known(model: Path) -> None:
    called = profiled(model, "fake-e:cuda,fake-a", *options("fake-e", copy_us="100", profile="issuing"))
    assert called.code == 0, called.err
    assert "its runtime records no kernels of the GPU" in " ".join(called.out.split())
    assert "fake-a spends" in called.out
    assert "fake-e:cuda spends" in called.out
    assert "fake-e:cuda spends 100 % of its operators" not in called.out


@pytest.mark.ci
def test_two_levels_of_a_backend_are_compared(model: Path) -> None:
    called = profiled(model, "fake-a", "--compare", "graph+basic", *options("fake-a", weights=WEIGHTS))
    assert called.code == 0, called.err
    assert "fake-a+basic" in called.out
    assert "What changed from fake-a to fake-a+basic:" in called.out
    assert "The nodes that changed most" not in called.out  # they take as long as before


@pytest.mark.ci
def test_a_runtime_that_refuses_the_form_of_a_graph_is_profiled_with_the_other_one(model: Path) -> None:
    called = profiled(model, "fake-a", *options("fake-a", fault="refuse-bound"))
    assert called.code == 0, called.err
    assert "fake-a dynamic spends" in called.out
    assert "shapes contradict each" in called.out


@pytest.mark.ci
def test_the_budget_ends_a_profile_after_its_first_launch(model: Path) -> None:
    called = profiled(model, "fake-a", "--launches", 3, "--budget", "0.01s", "--format", "json")
    assert (called.document["stopped_by"], len(called.document["cells"][0]["launches"])) == ("budget", 1)


@pytest.mark.ci
def test_ctrl_c_leaves_what_was_measured(model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    original, taken = profiling.timed_plainly, list[object]()

    def interrupt_the_second(*given: Any) -> list[int]:
        taken.append(given)
        if len(taken) > 1:
            raise KeyboardInterrupt
        return original(*given)

    monkeypatch.setattr(profiling, "timed_plainly", interrupt_the_second)
    with pytest.raises(public.Interrupted) as caught:
        public.profile(model, backends="fake-a", launches=1)
    assert isinstance(caught.value.result, public.Profile)
    assert caught.value.result.document.stopped_by == "interrupt"


@pytest.mark.ci
def test_progress_is_heard(model: Path) -> None:
    heard: list[Progress] = []
    public.profile(model, backends="fake-a", launches=1, progress=heard.append)
    assert [moment.activity.code for moment in heard] == ["expected-outputs", "profile"]


@pytest.mark.parametrize(
    ("arguments", "wrong"),
    [
        ((), "A model to profile is missing."),
        (("MODEL", "--show", "latest"), "--show and a model cannot be combined."),
        (("--show", "latest", "--launches", "3"), "--show and --launches cannot be combined."),
        (("--show", "01NOPE"), "No profiles are stored in"),
        (("MODEL", "--compare", "graph"), "does not name two levels"),
        (("MODEL", "--compare", "basic+basic"), "names one level twice"),
        (("MODEL", "--compare", "graph+besic"), "There is no level 'besic'"),
        (("MODEL", "--compare", "graph+basic", "--optimize", "basic"), "--compare and --optimize cannot be combined."),
        (("MODEL", "--threads", "1,2"), "is not an integer"),
        (("MODEL", "--optimize", "none,basic"), "none,basic"),
        (("MODEL", "--backends", "fake-f"), "Nothing can be profiled: fake-f does not report how long operators take."),
        (("MODEL", "--trace", "/nowhere/t.json"), "/nowhere is not a folder"),
        (("nowhere.onnx",), "nowhere.onnx"),
    ],
)
def test_wrong_calls_say_what_is_wrong(model: Path, arguments: tuple[str, ...], wrong: str) -> None:
    called = irbench("profile", *(str(model) if word == "MODEL" else word for word in arguments))
    assert called.code in (2, 5), called.err
    assert wrong in called.err
    assert "Traceback" not in called.err


def test_rows_and_forms_that_do_not_exist_are_refused(two: tuple[dict[str, Any], Path]) -> None:
    found = public.load_profile(results=two[1])
    for call in (found.rows, found.to_pandas, found.view):
        with pytest.raises(IrbenchError, match="There are no rows by 'operator'") as caught:
            call("operator")  # type: ignore[arg-type]
        assert caught.value.hint == "There are: class, op, node."
    with pytest.raises(IrbenchError, match="There are no rows by 'operator'"):
        found.to_text("csv", by="operator")  # type: ignore[arg-type]
    with pytest.raises(IrbenchError, match="There is no form 'xml'"):
        found.to_text("xml")  # type: ignore[arg-type]


def test_an_unknown_keyword_and_a_wrong_value_are_refused() -> None:
    with pytest.raises(TypeError, match="batches"):
        public.profile("x.onnx", batches=1)  # type: ignore[call-arg]
    with pytest.raises(IrbenchError, match="does not name two levels"):
        public.profile("x.onnx", compare="extended")
    with pytest.raises(IrbenchError, match=r"^threads="):
        public.profile("x.onnx", threads=[1, 2])  # type: ignore[arg-type]
    with pytest.raises(IrbenchError, match="'none,basic'"):
        public.profile("x.onnx", optimize="none,basic")
