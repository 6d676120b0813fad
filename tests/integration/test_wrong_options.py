"""Every wrong option of the real command line is one line that says what is wrong, and one that says how to fix it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import models
import pytest
from fake_runs import FASTEST
from front_door import Called, irbench, irbench_here
from stored_runs import refused as refusal

pytestmark = pytest.mark.usefixtures("known_backends")


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return models.mlp(tmp_path_factory.mktemp("model")).path


HUGE = "9" * 400

RUN = [
    # names
    (("--backends", "opnvino"), "no backend 'opnvino'", "Did you mean openvino?"),
    (("--backends", "trt"), "no backend 'trt'", "Known: "),
    (("--backends", "ort:cud"), "ort has no device 'cud'", "Did you mean ort:cuda?"),
    (("--backends", ""), "empty name", "irbench run --help"),
    (("--backends", "fake-a,,fake-b"), "empty name", "irbench run --help"),
    (("--precision", "fp23"), "no precision 'fp23'", "Did you mean fp32?"),
    (("--precision", ""), "empty name", "irbench run --help"),
    (("--io", "copi"), "'copi' is not one of 'copy', 'bound'. Did you mean copy?", "irbench run --help"),
    (("--format", "jsn"), "'jsn' is not one of", "irbench run --help"),
    (("--thread", "2"), "No such option '--thread'", "--threads"),
    (("--set", "fake-z.call_us=1"), "no backend 'fake-z'", "Did you mean"),
    (("--set", "call_us=1"), "lacks a backend", "irbench run --help"),
    (("--set", "fake-b.call_us=1"), "not part of the run", "Backends of the run: fake-a"),
    (("--set", "fake-a.cal_us=1"), "fake-a has no option 'cal_us'", "Did you mean call_us? Known: call_us, sample_us,"),
    (("--backends", "ort", "--set", "ort.use_determinstic_compute=1"), "no option", "mean use_deterministic_compute?"),
    (
        ("--backends", "openvino", "--set", "openvino.performance_hnt=1"),
        "no option",
        "Did you mean PERFORMANCE_HINT?",
    ),
    (("--backends", "tf", "--set", "tf.gappler=off"), "tf has no option 'gappler'", "Did you mean grappler?"),
    (("--backends", "ort", "--set", "ort.intra_op_num_threads=1"), "is set by irbench itself", "Use --threads."),
    (("--baseline", "fake-q"), "--baseline fake-q does not match any row", "The rows are: fake-a"),
    (("--shape", "pixel=1x3x8x8"), "dynamic dimension called 'pixel'", "Did you mean pixels? Inputs: pixels"),
    (("--backends", "ort,ort:cuda", "--objective", "cost"), "ort:cuda computes on a GPU", "Leave --objective out"),
    # numbers
    (("--batch", "0"), "'0' is not an integer of at least 1;", "irbench run --help"),
    (("--batch", "-1"), "'-1' is not an integer", "irbench run --help"),
    (("--batch", "1,"), "'' is not an integer", "irbench run --help"),
    (("--batch", HUGE), "is more than 999,999,999", "irbench run --help"),
    (("--batch", "999999999"), "of memory are available", "--batch"),
    (("--streams", "nan"), "'nan' is not an integer", "irbench run --help"),
    (("--streams", ""), "'' is not an integer", "irbench run --help"),
    (("--threads", "0"), "'0' is not an integer", "irbench run --help"),
    (("--threads", "1e3"), "'1e3' is not an integer", "irbench run --help"),
    (("--budget", "90"), "'90' has no unit; write it like 90s or 5m", "irbench run --help"),
    (("--max-latency", "50"), "'50' has no unit; write it like 50ms", "irbench run --help"),
    (("--budget", "0s"), "'0s' is not a duration", "irbench run --help"),
    (("--budget", "-5m"), "'-5m' is not a duration", "irbench run --help"),
    (("--budget", "inf"), "'inf' is not a duration", "irbench run --help"),
    (("--budget", f"{HUGE}s"), "at most 10000 days", "irbench run --help"),
    (("--deadline", "nan"), "'nan' is not a duration", "irbench run --help"),
    (("--within", "0%"), "is not a percentage", "irbench run --help"),
    (("--within", "100%"), "is not a percentage", "irbench run --help"),
    (("--seed", "-1"), "-1 is not in the range", "irbench run --help"),
    (("--seed", HUGE), "is not in the range", "irbench run --help"),
    (("--cpus", "0-99999999"), "is not a list of processors", "irbench run --help"),
    (("--cpus", "4096"), "contains processor 4096", "Available"),
    (("--shape", "pixels=0x3x8x8"), "'0' is not an integer", "irbench run --help"),
    # contradictions
    (("--quick", "--thorough"), "--quick and --thorough cannot", "Leave one"),
    (("--all",), "--all and a model cannot", "Leave one"),
    (("--batch", "8", "--shape", "batch=4"), "--shape batch=4 and --batch 8", "Leave one"),
    (("--shape", "batch=4", "--shape", "pixels=8x3x8x8"), "contradicts the size 4", "--shape"),
    (("--shape", "batch=4x8"), "a dynamic dimension, which has one size", "--shape batch=8"),
    (("--shapes", "batch=1,8", "--dynamic", "--io", "bound"), "--io bound cannot be combined", "Leave one"),
    (("--dynamic",), "--dynamic measures a session that meets several shapes", "--shapes length=64,128"),
    (("--shapes", "pixel=1x3x8x8,2x3x8x8"), "dynamic dimension called 'pixel'", "Did you mean pixels?"),
    (("--shapes", "batch=1,1"), "has a shape twice", "--help"),
    (
        ("--shape", "pixels=4x3x8x8", "--shape", "pixels=5x3x8x8"),
        "--shape pixels=5x3x8x8 cannot be combined",
        "Leave one",
    ),
    (
        ("--set", "fake-a.call_us=1", "--set", "fake-a.call_us=2"),
        "--set fake-a.call_us=2 cannot be combined",
        "Leave one",
    ),
    (("--dry-run", "-o", "table.txt"), "--dry-run measures nothing", "Leave one"),
    # outputs
    (("-o", "/nowhere/table.txt"), "/nowhere is not a folder", "mkdir -p /nowhere"),
    (("-o", "/"), "/ is a folder", "Name a file"),
]


@pytest.mark.parametrize(("arguments", "said", "hint"), RUN, ids=lambda item: str(item)[:40])
def test_a_wrong_run_measures_nothing(
    model: Path, own_home: Path, arguments: tuple[str, ...], said: str, hint: str
) -> None:
    backends = () if "--backends" in arguments else ("--backends", "fake-a")
    assert refused(("run", model, *backends, *arguments), said, hint, irbench_here)
    assert not (own_home / "results").exists()


@pytest.mark.parametrize(
    ("arguments", "said", "hint"),
    [
        (("rnu",), "There is no command 'rnu'", "Commands: "),
        ((__file__,), "There is no command", "To measure a model: irbench run "),
        (("resluts",), "There is no command 'resluts'", "Did you mean results?"),
        (("results", "improt"), "irbench results has no command 'improt'", "Did you mean import?"),
        (("run", "resnet5", "--dry-run"), "resnet5", "Did you mean resnet50?"),
        (("run", "lenet5+int8:batch=1"), "variant of lenet5", "irbench run lenet5 --optimize int8"),
        (("verify", "lenet5+custom"), "variant of lenet5", "irbench optimize lenet5 --passes"),
        (("run", "", "--dry-run"), "name of a model is empty", "irbench models"),
        (("run", "missing.onnx", "--dry-run"), "missing.onnx", ""),
        (("export", "alexne"), "alexne", "Did you mean alexnet? See: irbench models"),
        (("export", "alexnet", "--layout", "nchv"), "Did you mean nchw?", "irbench export --help"),
        (("export", "alexnet", "--opset", "99"), "Opset 99", "13 to 23"),
        (("export", "alexnet", "--seed", "-1"), "--seed", "irbench export --help"),
        (("export", "alexnet", "--batch", "0"), "'0' is not a valid number of samples", "irbench export --help"),
        (("results", "--limit", "0"), "'0' is not an integer", "irbench results --help"),
        (("results", "--limit", HUGE), "is more than 999,999,999", "irbench results --help"),
        (("results", "--since", "9999999d"), "at most 10000 days", "irbench results --help"),
        (("results", "--format", "tabel"), "Did you mean table?", "irbench results --help"),
        (("show", "--format", "jsnl"), "Did you mean jsonl?", "irbench show --help"),
        (("show", "--sample"), "No such option '--sample'", "Did you mean --samples?"),
        (("tune", "lenet5", "--optimize", "bsic"), "There is no level 'bsic'", "Did you mean basic?"),
        (("run", "lenet5", "--backends", "ort:gpu"), "ort has no device 'gpu'", "Did you mean ort:cuda?"),
        (("run", "--bacth", "8"), "No such option '--bacth'", "Did you mean --batch?"),
        (("run", "--rate", "8"), "No such option '--rate'", "It is an option of irbench"),
        (("run", "--launches", "8"), "No such option '--launches'", "irbench profile"),
        (("compare", "--launches", "8"), "No such option '--launches'", "irbench profile"),
        (("run", "--qqqq"), "No such option '--qqqq'", "See irbench run --help"),
        (("run", "--budget"), "requires an argument", "Write it like --budget 90s or 5m."),
        (("results", "rm", "--nme"), "No such option '--nme'", "irbench results rm --help"),
        (("models", "--format", "yaml"), "'yaml' is not one of", "irbench models --help"),
        (("completion", "bush"), "Did you mean bash?", "irbench completion --help"),
        (("completion",), "Missing argument", "irbench completion --help"),
    ],
    ids=lambda item: str(item)[:40],
)
def test_a_wrong_call_of_any_command_says_what_to_do(arguments: tuple[str, ...], said: str, hint: str) -> None:
    assert refused(arguments, said, hint)


def refused(arguments: tuple[object, ...], said: str, hint: str, call: Callable[..., Called] = irbench) -> bool:
    """Return that a call is refused, with nothing on standard output."""
    called = call(*arguments)
    assert called.out == ""
    return refusal(called, said, hint)


def test_an_output_never_overwrites_the_model(model: Path) -> None:
    before = model.read_bytes()
    assert refused(("run", model, "--backends", "fake-a", "-o", model), "would overwrite the model", "-o")
    assert model.read_bytes() == before


def test_a_place_for_results_that_cannot_be_written_is_refused_before_anything_is_measured(model: Path) -> None:
    assert refused(
        ("run", model, "--backends", "fake-a", "--results", "/proc/results"), "cannot be written", "--results"
    )


@pytest.mark.ci
def test_a_property_that_only_the_runtime_can_judge_is_refused_in_its_row(model: Path) -> None:
    options = ("--set", "openvino.GPU_QUEUE_PRIORITY=LOW", "--format", "json")
    called = irbench("run", model, "--backends", "openvino", *options, *FASTEST)
    assert called.code == 3
    (row,) = called.document["groups"][0]["cells"]
    assert row["failure"]["message"] == "OpenVINO has no property 'GPU_QUEUE_PRIORITY' that can be set."


@pytest.mark.parametrize(
    ("options", "said", "hint"),
    [
        (("--set", "ort.cuda.gpu_mem_limit=1"), "an option of ort:cuda, not of the CPU", "Leave"),
        (("--set", "ort.graph_optimization_level=most"), "cannot be 'most'", "disabled or basic"),
        (("--precision", "int8"), "int8 only if the graph was converted to int8; this one is fp32", "--optimize int8"),
    ],
)
def test_what_a_backend_knows_to_be_impossible_measures_nothing(
    model: Path, own_home: Path, options: tuple[str, ...], said: str, hint: str
) -> None:
    assert refused(("run", model, "--backends", "ort", *options), said, hint)
    assert not (own_home / "results").exists()


def test_a_dry_run_says_with_which_settings_and_where_to(model: Path, own_home: Path) -> None:
    said = irbench("run", model, "--backends", "fake-a", "--threads", "1", "--cpus", "0", "--io", "bound", "--dry-run")
    assert "1 thread on processor 0 · fp32 · copies excluded · seed 0" in said.out
    assert f"would be stored in {own_home / 'results'}" in said.out
    assert "warning" not in said.err


def test_more_threads_than_processors_are_warned_of_before_anything_is_measured(model: Path) -> None:
    said = irbench("run", model, "--backends", "fake-a", "--threads", "7", "--cpus", "0", *FASTEST)
    assert "warning: --threads 7 on 1 processor: threads will wait for each other" in said.err


def test_a_dry_run_warns_as_the_run_would(model: Path) -> None:
    said = irbench("run", model, "--backends", "fake-a", "--threads", "7", "--cpus", "0", "--dry-run")
    assert said.code == 0
    assert "warning: --threads 7 on 1 processor: threads will wait for each other" in said.err
    assert "warning" not in said.out
