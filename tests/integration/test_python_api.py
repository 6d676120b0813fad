"""irbench from Python, with backends whose speed and faults are scripted; and the examples of its document."""

from __future__ import annotations

import re
import subprocess
import sys
import threading
from importlib.util import find_spec
from pathlib import Path

import fake_perf
import fake_uv
import models
import pytest
from fake_environments import RUNTIME
from processes import workers

import irbench
from irbench.measure import counter_support
from irbench.perf_events.topdown import Processor

ROOT = Path(__file__).parents[2]
FENCED = re.compile(r"^```python\n(.*?)^```", re.MULTILINE | re.DOTALL)
QUICK: irbench.RunKeywords = {"backends": ["fake-a", "fake-b"], "quick": True, "budget": "0.01s"}

pytestmark = pytest.mark.usefixtures("known_backends")


@pytest.fixture
def model(tmp_path: Path) -> Path:
    return models.mlp(tmp_path).path


@pytest.mark.ci
def test_a_run_returns_its_rows_and_is_stored(model: Path):
    run = irbench.run(model, progress=None, **QUICK, set={"fake-b": {"call_us": 600}}, name="first")
    slow = next(row for row in run.rows if row.backend == "fake-b")
    assert slow.p50_ms == pytest.approx(0.6, rel=1e-3)
    assert slow.speedup == pytest.approx(0.5, rel=1e-3)
    assert irbench.load("first").document == run.document == irbench.load().document
    assert sum(sample.row == "fake-b" for sample in run.samples()) > 0
    assert workers() == []


@pytest.mark.ci
def test_a_run_in_another_thread_reports_its_progress_there(model: Path):
    found: list[irbench.Run] = []
    heard: list[tuple[irbench.Activity, threading.Thread]] = []

    def measure() -> None:
        def hear(progress: irbench.Progress) -> None:
            heard.append((progress.activity, threading.current_thread()))

        found.append(irbench.run(model, progress=hear, **QUICK))

    thread = threading.Thread(target=measure)
    thread.start()
    thread.join()
    assert [row.state for row in found[0].rows] == ["ok", "ok"]
    assert {place for _, place in heard} == {thread}
    assert "launch-finished" in [activity.code for activity, _ in heard]
    assert workers() == []


@pytest.mark.ci
def test_an_interrupt_is_raised_with_what_was_measured_and_leaves_no_worker(model: Path):
    def interrupt(progress: irbench.Progress) -> None:
        if progress.interim is not None:
            raise KeyboardInterrupt

    with pytest.raises(irbench.Interrupted) as caught:
        irbench.run(model, backends=["fake-a", "fake-b"], progress=interrupt)
    run = caught.value.result
    assert isinstance(run, irbench.Run)
    assert run.interrupted
    assert run.table.result.launches == 1
    assert irbench.load(run.id).document == run.document
    assert workers() == []


@pytest.mark.ci
@pytest.mark.parametrize("error", [ValueError("a fault of the listener"), SystemExit(3)])
def test_what_a_listener_raises_ends_the_run_and_loses_no_launch(model: Path, error: BaseException):
    def fail(progress: irbench.Progress) -> None:
        if progress.interim is not None:
            raise error

    with pytest.raises(type(error)) as caught:
        irbench.run(model, backends=["fake-a", "fake-b"], progress=fail)
    assert caught.value is error
    run = irbench.load()
    assert str(run.folder) in error.__notes__[-1]
    assert run.interrupted
    assert (run.table.result.launches, len(list(run.samples())) > 0) == (1, True)
    assert workers() == []


@pytest.mark.ci
def test_nothing_is_written_to_the_terminal_where_silence_is_asked_for(model: Path, capfd: pytest.CaptureFixture[str]):
    irbench.run(model, progress=None, **QUICK)
    assert capfd.readouterr() == ("", "")


def test_a_backend_that_cannot_read_the_model_is_not_chosen(model: Path):
    assert "tf" not in irbench.plan(model).splitlines()[0]
    assert "fake-a" in irbench.plan(model).splitlines()[0]


@pytest.mark.ci
def test_a_script_needs_no_main_guard(model: Path, tmp_path: Path):
    script = tmp_path / "script.py"
    call = f"irbench.run({str(model)!r}, backends='fake-a', quick=True, budget='1s')"
    script.write_text(f"import irbench\nprint({call}.rows[0].state)\n")
    done = subprocess.run([sys.executable, script], capture_output=True, text=True, check=False)
    assert (done.stdout, done.returncode) == ("ok\n", 0), done.stderr


@pytest.mark.slow
def test_the_examples_of_the_document_run_one_after_the_other(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    models.mlp(tmp_path).path.rename(tmp_path / "model.onnx")
    (tmp_path / "my_loop.py").write_text("def infer(inputs): ...\n")
    monkeypatch.chdir(tmp_path)
    text = "\n".join(FENCED.findall((ROOT / "docs" / "python.md").read_text()))
    # scripted backends take the place of the runtimes, and little time that of minutes; the rest is as it is written
    text = text.replace('"ort", "openvino"', '"fake-a", "fake-b"').replace('"ort"', '"fake-a"')
    text = text.replace('budget="2m"', 'budget="1s", quick=True').replace('duration="10m"', 'duration="2s"')
    text = text.replace("ort slower than openvino by 1.5x", "fake-a slower than fake-b by 1.5x")
    text = text.replace('budget="5m"', 'budget="1s", optimize="none", threads=1, streams=1, instances=1, batch=[1, 2]')
    # a map of conditions and limits of accuracy take minutes, and have tests of their own
    text = re.sub(
        r"^tuned = irbench.tune\(.*(data|flip_map)=.*$|^.*tuned\.report\.flips.*$", "", text, flags=re.MULTILINE
    )
    text = text.replace("onnxruntime", RUNTIME)
    monkeypatch.setattr(counter_support, "read_processor", lambda: Processor(has_pmu=True))
    fake_perf.install(tmp_path / "perf", {"events": {**fake_perf.SOFTWARE, **fake_perf.HARDWARE}}, monkeypatch)
    fake_uv.install(tmp_path / "uv", {"1.22.0": {}, "1.23.2": {}, "1.31.0": {"fault": "wrong"}}, monkeypatch)
    text = re.sub(r"(irbench\.profile\(.*)\)(  #.*)$", r"\1, launches=1, inferences=2)\2", text, flags=re.MULTILINE)
    text = re.sub(r"(cold=True|counters=\[.*?\])", r'\1, quick=True, budget="1s"', text)
    text = re.sub(r'backends="fake-a", quick=True', 'backends="fake-a", quick=True, budget="1s"', text)
    if find_spec("pandas") is None:
        text = re.sub(r"^(run|profiled)\.to_pandas\(.*$", "", text, flags=re.MULTILINE)
    if find_spec("pyarrow") is None:
        text = re.sub(r"^run\.export\(\"run\.parquet.*$", "", text, flags=re.MULTILINE)
    # claims need a decided run: a backend that takes twice the time is one soon
    twice = {"fake-b": {"call_us": 600}}
    irbench.run("model.onnx", backends=["fake-a", "fake-b"], set=twice, name="nightly", progress=None)
    names: dict[str, object] = {}
    exec(compile(text, "docs/python.md", "exec"), names)  # it is our own document
    assert isinstance(names["run"], irbench.Run)
    assert (tmp_path / "better.onnx").is_file()
    assert names["found"].changed_by == "1.31.0"  # type: ignore[attr-defined]
