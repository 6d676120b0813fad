"""``irbench doctor`` through its front door: the machine as it is, and a scripted backend against itself."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import fake_perf
import models
import pytest
from front_door import irbench
from made_peaks import peaks

from irbench.across_runs.differences import fingerprint
from irbench.store import bundles
from irbench.store.kept_peaks import keep_peaks
from irbench.store.runs import Store
from irbench.system import host

pytestmark = pytest.mark.usefixtures("known_backends")

SPENT = ("--budget", "0.01s")
"""The first launch uses it up on any machine, however fast."""


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return models.mlp(tmp_path_factory.mktemp("model")).path


@pytest.mark.ci
def test_whatever_is_found_is_no_failure(tmp_path: Path) -> None:
    called = irbench("doctor", "--format", "json", "-o", tmp_path / "machine.json")
    assert called.code == 0, called.err
    assert called.out == ""
    assert '"aa": null' in (tmp_path / "machine.json").read_text()


@pytest.mark.ci
def test_counters_that_the_machine_does_not_have_are_described_and_no_finding(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    events = {**fake_perf.SOFTWARE, **dict.fromkeys(fake_perf.HARDWARE, "<not supported>")}
    fake_perf.install(tmp_path, {"events": events}, monkeypatch)
    found = irbench("doctor", "--format", "json").document
    assert found["counters"]["available"] == ["software"]
    assert "cache" in found["counters"]["unavailable"]
    assert "counters-missing" not in [item["code"] for item in found["findings"]]


@pytest.mark.ci
def test_a_perf_that_is_not_installed_is_a_finding(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fake_perf.uninstall(tmp_path / "empty", monkeypatch)
    found = irbench("doctor", "--format", "json").document
    assert "counters-missing" in [item["code"] for item in found["findings"]]


@pytest.mark.ci
def test_the_machine_is_described_as_far_as_this_process_may_use_it() -> None:
    cpu = min(os.sched_getaffinity(0))
    allowed = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {cpu})
    try:
        called = irbench("doctor", "--format", "json")
    finally:
        os.sched_setaffinity(0, allowed)
    found = called.document
    assert found["machine"]["cpus"] == [cpu]
    assert found["machine"]["threads"] == 1
    assert found["core_to_core"] is None
    assert found["overhead"]["repeats"] > 1
    assert {"fake-a", "ort"} <= {item["name"] for item in found["backends"]}
    if os.cpu_count() != 1:
        assert "affinity" in [item["code"] for item in found["findings"]]


@pytest.mark.ci
def test_too_little_time_leaves_a_backend_against_itself_undecided(model: Path, tmp_path: Path) -> None:
    called = irbench("doctor", "--aa", model, "--backend", "fake-a", *SPENT, "--results", tmp_path, "--format", "json")
    assert called.code == 4, called.err
    self_comparison = called.document["aa"]
    assert (self_comparison["verdict"], self_comparison["outcome"], self_comparison["smallest_difference"]) == (
        "preview",
        "undecided",
        None,
    )
    store = Store(tmp_path)
    folder = store.find(self_comparison["run_id"])
    (table,) = store.load(folder).groups
    assert {cell.label for cell in table.cells} == {"fake-a", "fake-a again"}
    assert len(store.launches(folder)) == self_comparison["launches"]


@pytest.mark.ci
def test_a_backend_against_itself_keeps_to_the_processors_and_threads_asked_for(model: Path, tmp_path: Path) -> None:
    cpu = max(os.sched_getaffinity(0))
    called = irbench(
        "doctor", "--aa", model, "--backend", "fake-a", *SPENT, "--results", tmp_path, "--format", "json",
        "--threads", "1", "--cpus", cpu,
    )  # fmt: skip
    assert called.code == 4, called.err
    store = Store(tmp_path)
    document = store.load(store.find(called.document["aa"]["run_id"]))
    assert document.plan.cpus == (cpu,)
    assert {cell.requested.threads for cell in document.groups[0].cells} == {1}


@pytest.mark.ci
def test_what_nobody_named_is_chosen_with_a_reason(tmp_path: Path) -> None:
    called = irbench("doctor", "--aa", *SPENT, "--results", tmp_path)
    chosen = "measured against itself: ort, a reference backend (choose another with --backend)"
    assert chosen in called.err
    assert "on a matrix product, because no model has been exported yet" in called.err
    assert chosen in " ".join(called.out.split())
    assert "ort again" in called.out


@pytest.mark.slow
def test_a_backend_that_is_as_fast_twice_passes_and_the_run_is_stored(tmp_path: Path) -> None:
    called = irbench("doctor", "--aa", "--backend", "fake-a", "--budget", "15m", "--results", tmp_path, timeout_s=1000)
    expected = {0: "Passed: fake-a against itself is 1.00x", 4: "Undecided: other programs disturbed"}
    assert expected[called.code] in called.out, called.out
    assert "matmul-fp32 1x512x512" in " ".join(called.out.split())
    assert str(tmp_path) in called.err
    shown = irbench("show", "--results", tmp_path)
    assert "fake-a again" in shown.out


@pytest.mark.slow
def test_peaks_of_one_backend_are_shown_and_not_kept(tmp_path: Path) -> None:
    known = irbench("doctor", "--format", "json").document["peak"]
    called = irbench(
        "doctor", "--peak", "--backend", "fake-a", "--results", tmp_path, "--format", "json", timeout_s=1200
    )
    assert called.code == 0, called.err
    found = called.document["peak"]
    assert (found["outcome"], found["not_kept"]) == ("measured", "restricted")
    assert {peak["backend"] for peak in found["compute"]} == {"fake-a"}
    assert {"read", "copy", "add"} == {each["access"] for each in found["bandwidth"]}
    assert all(each["low"] <= each["gb_per_s"] <= each["high"] for each in found["bandwidth"])
    assert irbench("doctor", "--format", "json").document["peak"] == known


@pytest.mark.ci
def test_peaks_that_were_measured_are_part_of_the_report() -> None:
    keep_peaks(bundles.home(), peaks(fingerprint(host.describe())))
    called = irbench("doctor")
    assert called.code == 0, called.err
    assert "One core attains at most 150 GFLOP/s in fp32 (ort)" in " ".join(called.out.split())
    assert "irbench doctor --peak measures them again." in " ".join(called.out.split())


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (("--budget", "5m"), 2, "--threads and --budget need --aa."),
        (("--peak", "--threads", "2"), 2, "--threads and --budget need --aa."),
        (("--backend", "ort"), 2, "--backend, --cpus, --no-lock and --results need --aa or --peak."),
        (("--peak", "--cpus", "9999"), 2, "--cpus contains processor 9999, which is not available."),
        (("--peak", "--backend", "nothing-like-it"), 2, "There is no backend 'nothing-like-it'."),
        (("--peak", "--backend", "fake-absent"), 5, "pip install irbench-fake"),
        (("--threads", "1"), 2, "need --aa."),
        (("--cpus", "0"), 2, "need --aa or --peak."),
        (("--aa", "--cpus", "9999"), 2, "--cpus contains processor 9999, which is not available."),
        (("--aa", "nothing-like-it"), 2, "nothing-like-it"),
        (("--aa", "--backend", "nothing-like-it"), 2, "There is no backend 'nothing-like-it'."),
        (("--aa", "--backend", "fake-absent"), 5, "pip install irbench-fake"),
    ],
)
def test_what_cannot_be_measured_is_refused_before_anything_is_looked_at(
    arguments: tuple[str, ...], code: int, message: str
) -> None:
    called = irbench("doctor", *arguments)
    assert called.code == code
    assert message in called.err
    assert "checking this machine" not in called.err


@pytest.mark.ci
def test_no_runtime_is_imported_to_look_at_a_machine() -> None:
    code = (
        "import sys; from irbench.cli import main\n"
        "try: main(['doctor', '-o', sys.argv[1]])\n"
        "except SystemExit: print(sorted({'onnxruntime', 'openvino', 'tensorflow', 'keras'} & set(sys.modules)))"
    )
    environment = {**os.environ, "PYTHONPATH": ""}  # leaves out the stand-ins of other tests
    printed = subprocess.run(
        [sys.executable, "-c", code, os.devnull], capture_output=True, text=True, check=True, env=environment
    )
    assert printed.stdout == "[]\n"
