"""A user's command as a session that times itself: its two kinds, what it is told, and what can be wrong with it."""

from __future__ import annotations

import os
import shlex
import sys
import tempfile
from collections.abc import Callable
from contextlib import nullcontext, suppress
from dataclasses import replace
from pathlib import Path

import launches
import numpy as np
import psutil
import pytest
from processes import becomes, comes_true, none_left

from irbench.errors import IrbenchError
from irbench.measure.kernel_evidence import descendant_folders
from irbench.spec import Artifact, Load, Program, TensorSpec, Timing
from irbench.worker import Worker
from irbench.worker.cell import CellTask
from irbench.worker.inference import infer
from irbench.worker.own_code.command_process import command_words
from irbench.worker.own_code.command_session import CommandBackend, CommandSession

X, TEXT = TensorSpec("file", "float32", (1, 3)), TensorSpec("a/b:0", "string", (1,))
GRAPH = Artifact("onnx", Path("model.onnx"), (X, TEXT), (TensorSpec("y", "float32", (1, 3)),))
IMAGE = TensorSpec("image", "float32", (1, 3, 8, 8))
GRAPH_OF_IMAGES = Artifact("onnx", Path("model.onnx"), (IMAGE,), ())
PATIENCE_S = 60
FEED = (np.arange(3, dtype=np.float32).reshape(1, 3), np.array(["words"], object))
LOOP = "while true; do sleep 0.004; echo {line}; done"
REQUESTS = "echo '{{\"irbench\": 1}}'; while read -r verb count; do {body}; done"

Open = Callable[..., CommandSession]


@pytest.fixture
def opened(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Open:
    """Start a script of the shell as a command; the sessions are closed afterwards."""
    monkeypatch.setattr("irbench.worker.own_code.command_session.worker_folder", lambda _: tmp_path / "worker")
    sessions: list[CommandSession] = []

    def start(script: str, load: Load | None = None) -> CommandSession:
        return run(f"bash -c {shlex.quote(script)}", load)

    def run(target: str, load: Load | None = None) -> CommandSession:
        backend = CommandBackend("mine", Program("command", target), lambda: FEED)
        backend.import_runtime(load or Load(), "cpu")
        sessions.append(backend.compile(GRAPH, load or Load(threads=2), "cpu", lambda _: nullcontext()))
        return sessions[-1]

    start.run = run  # type: ignore[attr-defined]
    yield start  # type: ignore[misc]
    for session in sessions:
        session.close()


def test_placeholders_are_replaced_within_words_and_no_shell_reads_them() -> None:
    words = command_words("./loop '{model} {other}' --n={batch} $HOME;", {"model": "a b; rm", "batch": "8"})
    assert words == ["./loop", "a b; rm {other}", "--n=8", "$HOME;"]


def test_a_loop_of_its_own_gives_as_many_calls_as_are_asked_for(opened: Open) -> None:
    session = opened(LOOP.format(line="3 ms"))
    window = session.drive(4, settle_calls=2)
    assert (window.completion_ns - window.issue_ns).tolist() == [3_000_000] * 4
    assert session.effective["returns_outputs"] is False


def test_what_a_loop_wrote_before_its_turn_is_left_out(opened: Open) -> None:
    session = opened("for i in 1 2 3 4 5; do echo 77 ms; done; " + LOOP.format(line="3 ms"))
    assert 77_000_000 not in session.drive(4, settle_calls=4).completion_ns


def test_a_loop_that_ends_starts_again(opened: Open, tmp_path: Path) -> None:
    session = opened(f"echo >> {tmp_path}/starts; sleep 0.02; echo '{{\"ms\": [4, 5]}}'")
    window = session.drive(3, settle_calls=1)
    assert sorted(set((window.completion_ns - window.issue_ns).tolist())) == [4_000_000, 5_000_000]
    assert len((tmp_path / "starts").read_text()) >= 3


def test_a_command_that_answers_requests_is_asked_for_settle_calls_and_then_for_timed_ones(
    opened: Open, tmp_path: Path
) -> None:
    body = f"echo $verb $count >> {tmp_path}/asked; for ((i = 0; i < count; i++)); do sleep 0.002; echo 1500 us; done"
    window = opened(REQUESTS.format(body=body)).drive(3, settle_calls=2)
    assert window.completion_ns.tolist() == [1_500_000, 3_000_000, 4_500_000]
    assert (tmp_path / "asked").read_text() == "run 2\nrun 3\n"


def test_streams_are_asked_for_whole_turns_and_throughput_is_that_of_the_total(opened: Open, tmp_path: Path) -> None:
    answer = f"echo $count >> {tmp_path}/asked; sleep 0.02; python3 -c 'print(str(dict(ms=[9]*'$count', total_ms=18)))'"
    session = opened(REQUESTS.format(body=answer + " | tr \"'\" '\"'"), Load(streams=4))
    window = session.drive(5, settle_calls=1)
    assert (tmp_path / "asked").read_text().split() == ["4", "8"]
    assert window.completion_ns.size == 8
    assert window.completion_ns[-1] == 18_000_000
    assert set(window.completion_ns - window.issue_ns) == {9_000_000}


def test_streams_without_a_total_are_refused(opened: Open) -> None:
    session = opened(REQUESTS.format(body="sleep 0.01; echo '{\"ms\": [9, 9]}'"), Load(streams=2))
    with pytest.raises(IrbenchError, match="does not say how long they took together"):
        session.drive(2)
    with pytest.raises(IrbenchError, match="must answer requests"):
        opened(LOOP.format(line="3 ms"), Load(streams=2))


def test_a_command_is_told_the_load_and_given_the_inputs(opened: Open, tmp_path: Path) -> None:
    script = tmp_path / "inputs.py"
    script.write_text(
        "import os, sys, time, numpy as np\n"
        "inputs = np.load(sys.argv[1])\n"
        "facts = [os.environ['IRBENCH_' + name] for name in ('MODEL', 'BATCH', 'THREADS', 'STREAMS', 'PRECISION')]\n"
        f"np.savez('{tmp_path}/seen.npz', facts=facts, x=inputs['file'], text=inputs['a/b:0'])\n"
        "while True:\n"
        "    time.sleep(0.004); print('3 ms')\n"
    )
    command = f"{sys.executable} {script} {{inputs}}"
    opened.run(command, Load(batch=8, threads=None, precision="native"))  # type: ignore[attr-defined]
    seen = np.load(tmp_path / "seen.npz")
    assert seen["facts"].tolist() == ["model.onnx", "8", "0", "1", "native"]
    assert seen["x"].tolist() == FEED[0].tolist()
    assert seen["text"].tolist() == ["words"]


HELPER = """
import os, sys, time, numpy as np, irbench
print("this goes to the log")
inputs = dict(np.load(os.environ["IRBENCH_INPUTS"]))
irbench.answer_requests(
    lambda: (time.sleep(0.002), print("chatter")),
    outputs=lambda: {"y": inputs["file"] + 1},
    effective={"precision": "fp16", "threads": 3},
)
"""


def test_the_helper_for_python_answers_requests_and_returns_outputs(opened: Open, tmp_path: Path) -> None:
    script = tmp_path / "helper.py"
    script.write_text(HELPER.replace('print("this goes to the log")\n', ""))
    session = opened.run(f"{sys.executable} {script}")  # type: ignore[attr-defined]
    (slot,) = session.open_slots(1, "copy")
    assert infer(slot, FEED)[0].tolist() == (FEED[0] + 1).tolist()
    window = session.drive(3)
    assert all(window.completion_ns - window.issue_ns >= 2_000_000)
    assert session.effective["precision"] == "fp16"
    assert session.effective["returns_outputs"] is True


@pytest.mark.parametrize(
    ("script", "said"),
    [
        ("echo Loading", "wrote 'Loading' in place of a duration"),
        ("echo nan", "above 0"),
        ("exit 3", "ended with exit code 3"),
        ("kill -SEGV $$", "ended with SIGSEGV"),
        ("exit 0", "ended with exit code 0"),
        ("printf '\\xff\\xfe\\n'", "in place of a duration"),
        ("echo '{\"irbench\": 2}'", "version 2"),
        ("exec setsid -w bash -c 'true'", "ended with exit code 0"),
    ],
)
def test_a_command_that_does_not_begin_well_says_why(script: str, said: str, opened: Open) -> None:
    with pytest.raises(IrbenchError, match=said):
        opened(script)


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ("env printf '1 ms\\n1 ms\\n1 ms\\n'", "without a request"),
        ("echo '[1, 1, 1]'", "wrote 3 durations, but 1 calls"),
        ("echo 5000", "add up to 5000 ms"),
        ("echo -1", "above 0"),
        ("echo what", "in place of a duration"),
        ("exit 7", "exit code 7"),
    ],
)
def test_answers_that_cannot_be_are_refused(body: str, said: str, opened: Open) -> None:
    session = opened(REQUESTS.format(body=body))
    with pytest.raises(IrbenchError, match=said):
        session.drive(1)


def test_a_loop_that_writes_its_durations_late_is_refused(opened: Open) -> None:
    session = opened("while true; do echo 60000 ms; done")
    with pytest.raises(IrbenchError, match="add up to"):
        session.drive(50)


def test_a_program_that_is_not_there_is_refused(opened: Open) -> None:
    with pytest.raises(IrbenchError, match="cannot be started") as caught:
        opened.run("./nothing-here")  # type: ignore[attr-defined]
    assert "without a shell" in caught.value.hint


def test_a_command_that_leaves_its_process_group_cannot_be_frozen(opened: Open) -> None:
    script = "import os, time; os.setpgid(0, 0); print('3 ms'); time.sleep(60)"
    with pytest.raises(IrbenchError, match="left its process group"):
        opened.run(f'{sys.executable} -c "{script}"')  # type: ignore[attr-defined]


@pytest.mark.parametrize("answer", ["echo no", "echo ok"])
def test_outputs_that_were_promised_and_not_written_are_refused(answer: str, opened: Open) -> None:
    session = opened('echo \'{"irbench": 1, "outputs": true}\'; while read -r verb; do ' + answer + "; done")
    (slot,) = session.open_slots(1, "copy")
    with pytest.raises(IrbenchError, match="when it was asked for outputs"):
        infer(slot, FEED)


def test_a_commands_own_children_are_seen(opened: Open) -> None:
    opened("sleep 60 & echo 3 ms; wait")

    def seen() -> list[bytes]:
        found = []
        for folder in descendant_folders(os.getpid()):
            with suppress(OSError):  # of another test, and has just ended
                found.append((folder / "cmdline").read_bytes())
        return found

    assert comes_true(lambda: b"sleep\x0060\0" in seen())  # it has yet to begin
    assert any(command.startswith(b"bash\0") for command in seen())


def test_a_command_is_frozen_with_its_worker_and_gone_with_it(tmp_path: Path) -> None:
    script = f"{sys.executable} -c \"import time; print('3 ms', flush=True); time.sleep(600)\""
    asked = launches.group("own")
    cell = replace(asked.cells[0], artifact=GRAPH_OF_IMAGES, program=Program("command", script))
    task = CellTask(cell, asked.main, Timing())
    with Worker(tmp_path / "log") as worker:
        worker.ask("irbench.worker.cell:CellHost", task, hold=True, deadline_s=PATIENCE_S)
        worker.ask("import_runtime", deadline_s=PATIENCE_S)
        effective = worker.ask("prepare", True, deadline_s=PATIENCE_S).effective
        (command,) = psutil.Process(worker.process_id).children()
        (files,) = Path(tempfile.gettempdir()).glob(f"irbench-worker-{command.environ()['IRBENCH_WORKER']}")
        worker.freeze()
        assert becomes(command, psutil.STATUS_STOPPED)
        worker.thaw()
        assert becomes(command, psutil.STATUS_SLEEPING)
    assert effective["returns_outputs"] is False
    assert none_left(lambda process: process.pid == command.pid)
    assert not files.exists()
