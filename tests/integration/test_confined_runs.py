"""Runs whose backends are confined: the same rows, and none of the user's files within reach."""

from __future__ import annotations

import errno
import json
import os
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import fake_answers
import hostile_files as hostile
import models
import pytest
from fake_runs import FASTEST, cell
from front_door import irbench_here

import irbench as api
from irbench.errors import ExitCode, IrbenchError
from irbench.spec import Artifact, Cell, Load, Program
from irbench.system.confinement import Confinement, ConfinementSupport, confinement_support
from irbench.worker import requested_confinement
from irbench.worker.failures import CallFailed
from irbench.worker.limited_call import LIMITED_CALL
from irbench.worker.process import Worker
from irbench.worker.requested_confinement import confinement_of

pytestmark = pytest.mark.usefixtures("known_backends")
_WITHOUT_MODEL = (
    "irbench.worker.isolated_call:isolated_call",
    "irbench.worker.probing:probe",
    "irbench.data.sample_reading:read_files",
)
"""What need not be confined: forks confine themselves, and neither a probe nor who reads data runs a model."""
needs_both = pytest.mark.skipif(
    not (confinement_support().landlock and confinement_support().seccomp), reason="no confinement on this kernel"
)


@pytest.fixture(autouse=True)
def answers_are_computed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Scripted backends otherwise keep their answers in a folder that no confined worker reaches."""
    monkeypatch.delenv(fake_answers.FOLDER, raising=False)


@needs_both
def test_a_confined_worker_reads_what_it_may_and_answers(tmp_path: Path) -> None:
    model, secret = tmp_path / "model", tmp_path / "secret"
    model.write_text("a model")
    secret.write_text("a secret")
    allowed = Confinement(readable=(model,), for_runtime=True)
    with Worker(tmp_path / "log", confinement=allowed) as worker:
        assert worker.ask("isolated_reads:read_other", model, str(model), deadline_s=30) == b"a model"
        with pytest.raises(CallFailed, match="Permission denied"):
            worker.ask("isolated_reads:read_other", model, str(secret), deadline_s=30)
        temporary = worker.ask("tempfile:mkdtemp", deadline_s=30)
        assert Path(temporary).is_dir()
        with pytest.raises(CallFailed, match="not a plain value"):
            worker.ask("isolated_reads:break_out", model, deadline_s=30)
    assert not Path(temporary).exists()


@needs_both
def test_a_confined_worker_and_what_it_starts_make_no_namespace(tmp_path: Path) -> None:
    with Worker(tmp_path / "log", confinement=Confinement(for_runtime=True)) as worker:
        assert worker.ask("isolated_reads:make_namespace", deadline_s=30) == [errno.EACCES] * 3


@needs_both
def test_an_answer_of_another_type_is_a_failure_of_its_call(tmp_path: Path) -> None:
    allowed = Confinement(for_runtime=True)
    with Worker(tmp_path / "log", confinement=allowed) as worker:
        with pytest.raises(CallFailed, match="answer cannot be read: it is not what was asked for") as caught:
            worker.ask("builtins:len", "abc", deadline_s=30, returns=str)
        assert caught.value.exit_code is ExitCode.FAILED_CELL
        assert worker.ask("builtins:len", "abc", deadline_s=30, returns=int) == 3
        worker.ask("tests_support:WrongHost", deadline_s=30, hold=True)
        with pytest.raises(CallFailed, match="answer cannot be read: it is not what was asked for"):
            worker.ask("prepare", deadline_s=30)
        assert worker.ask("peak_memory_bytes", deadline_s=30) == 3


@needs_both
def test_threads_that_numpy_starts_are_confined_too(tmp_path: Path) -> None:
    threads, allowed = {"OPENBLAS_NUM_THREADS": "4"}, Confinement(for_runtime=True)
    with Worker(tmp_path / "log", environment=threads, confinement=allowed) as worker:
        states = worker.ask("isolated_reads:states_of_threads", deadline_s=30)
    assert all("Seccomp:\t2" in state for state in states)


@needs_both
@pytest.mark.ci
@pytest.mark.parametrize("backend", ["ort", "openvino"])
def test_a_row_that_is_confined_agrees_with_the_reference(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, backend: str
) -> None:
    monkeypatch.setenv("IRBENCH_CONFINE", "1")
    path = hostile.with_external()(tmp_path)
    called = irbench_here("run", path, "--backends", backend, "--format", "json", *FASTEST)
    assert called.code == 0, called.err
    assert cell(called, backend)["state"] == "ok"


@needs_both
@pytest.mark.ci
def test_a_confined_row_of_tensorflow_needs_no_settings_of_keras(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Keras writes them into the user's home folder, which is out of reach."""
    home = tmp_path / "home"
    (home / ".keras").mkdir(parents=True)
    (home / ".keras" / "keras.json").write_text("{}")
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("IRBENCH_CONFINE", "1")
    called = irbench_here("run", "autoencoder_ad", "--backends", "tf", "--format", "json", *FASTEST)
    assert called.code == 0, called.err
    assert cell(called, "tf")["state"] == "ok"


def failure(model: Path, fault: str) -> str:
    """Return why a row of a confined run failed, whose backend does something at its first call."""
    script = ("--set", f"fake-a.fault={fault}", "--set", "fake-a.at=import")
    called = irbench_here("run", model, "--backends", "fake-a", *script, "--format", "json", *FASTEST)
    assert called.code == ExitCode.FAILED_CELL
    return str(cell(called, "fake-a")["failure"]["message"])


@pytest.fixture
def shared_memory() -> Iterator[Path]:
    """Memory that another program of the user's shares by name."""
    with tempfile.NamedTemporaryFile("w", dir="/dev/shm") as file:
        file.write("a secret")
        file.flush()
        yield Path(file.name)


@needs_both
def test_a_model_that_took_its_runtime_over_finds_no_secret_of_other_programs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, shared_memory: Path
) -> None:
    monkeypatch.setenv("IRBENCH_CONFINE", "1")
    places = (shared_memory, f"/proc/{os.getpid()}/environ", f"/proc/{os.getppid()}/cmdline", "/etc/passwd")
    found = failure(models.mlp(tmp_path).path, f"trespass:{os.pathsep.join(map(str, places))}")
    assert "it read [] and wrote nothing" in found
    assert shared_memory.read_text() == "a secret"


@needs_both
def test_a_confined_row_sees_the_variables_of_runtimes_and_no_secret(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("IRBENCH_CONFINE", "1")
    for name in ("HF_TOKEN", "AWS_SECRET_ACCESS_KEY", "OMP_WAIT_POLICY"):
        monkeypatch.setenv(name, "PASSIVE")
    seen = failure(models.mlp(tmp_path).path, "variables")
    assert "'OMP_WAIT_POLICY'" in seen
    assert "TOKEN" not in seen
    assert "AWS" not in seen


@needs_both
def test_a_confined_worker_inherits_no_descriptor_but_those_that_it_is_given(tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text("a secret")
    with secret.open() as file, Worker(tmp_path / "log", confinement=Confinement(for_runtime=True)) as worker:
        os.set_inheritable(file.fileno(), True)
        held = worker.ask("isolated_reads:open_files", deadline_s=30)
    assert str(secret) not in held
    assert {name for name in held if name.startswith("/")} == {"/dev/null", str(tmp_path / "log")}


def test_a_kernel_that_cannot_confine_refuses_who_asks_for_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("IRBENCH_CONFINE", "1")
    monkeypatch.setattr(requested_confinement, "confinement_support", lambda: ConfinementSupport(0, seccomp=True))
    problem, remedy = hostile.refusal(irbench_here("run", models.mlp(tmp_path).path, "--backends", "fake-a"))
    assert "Landlock is not available here" in problem
    assert "unset IRBENCH_CONFINE" in remedy


@pytest.mark.ci
@needs_both
def test_a_run_says_that_its_workers_were_confined_and_goes_on_as_it_began(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def stop(progress: api.Progress) -> None:
        if progress.interim is not None:
            raise KeyboardInterrupt

    monkeypatch.setenv("IRBENCH_CONFINE", "1")
    with pytest.raises(api.Interrupted) as caught:
        api.run(models.mlp(tmp_path).path, backends="fake-a", quick=True, progress=stop)
    run = caught.value.result
    assert isinstance(run, api.Run)
    assert run.document.environment["confined"] is True
    assert " · confined · " in str(run)
    assert json.loads(irbench_here("show", run.id, "--format", "jsonl").out)["confined"] is True
    monkeypatch.delenv("IRBENCH_CONFINE")
    problem, remedy = hostile.refusal(irbench_here("run", "--resume", run.id))
    assert "its workers were confined, and IRBENCH_CONFINE is not set now" in problem
    assert "Set IRBENCH_CONFINE=1 to go on as it began" in remedy
    monkeypatch.setenv("IRBENCH_CONFINE", "1")
    document = api.resume(run.id, progress=None).document
    assert document.complete
    assert [row.state for row in document.groups[0].cells] == ["ok"]


@needs_both
def test_verify_confines_its_backends_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[Confinement | None] = []
    started = Worker.__init__

    def start(worker: Worker, *arguments: object, confinement: Confinement | None = None, **options: object) -> None:
        asked.append(confinement)
        started(worker, *arguments, confinement=confinement, **options)  # type: ignore[arg-type]

    monkeypatch.setattr(Worker, "__init__", start)
    monkeypatch.setenv("IRBENCH_CONFINE", "1")
    called = irbench_here("verify", models.mlp(tmp_path).path, "--backends", "ort")
    assert called.code == 0, called.err
    assert any(allowed is not None and allowed.for_runtime for allowed in asked)


@pytest.fixture
def unconfined(monkeypatch: pytest.MonkeyPatch) -> set[str]:
    """What workers are asked that are not confined though the user asks for it, but for forks and probes."""
    found: set[str] = set()
    send = Worker.send

    def record(worker: Worker, target: str, *arguments: object, **options: object) -> None:
        called = str(arguments[0]) if target == LIMITED_CALL else target
        if not worker.is_confined and called not in _WITHOUT_MODEL:
            found.add(called)
        send(worker, target, *arguments, **options)  # type: ignore[arg-type]

    monkeypatch.setattr(Worker, "send", record)
    monkeypatch.setenv("IRBENCH_CONFINE", "1")
    return found


@pytest.mark.ci
@needs_both
def test_all_that_runs_a_model_of_a_run_with_a_limit_is_confined(tmp_path: Path, unconfined: set[str]) -> None:
    called = irbench_here("run", models.mlp(tmp_path).path, "--backends", "ort", "--min-accuracy", "50%", *FASTEST)
    assert called.code == 0, called.err
    assert not unconfined


@pytest.mark.ci
@needs_both
@pytest.mark.parametrize(
    "options",
    [
        ("--passes", "remove_redundant", "--batch", "2"),
        ("--precision", "int8"),
    ],
    ids=["fp32", "int8"],
)
def test_what_optimises_a_graph_is_confined_and_writes_its_result(
    tmp_path: Path, unconfined: set[str], options: tuple[str, ...]
) -> None:
    called = irbench_here("optimize", hostile.with_external()(tmp_path), *options, "--format", "json")
    assert called.code == 0, called.err
    (made,) = called.document["optimized"]
    assert Path(made["path"]).is_file()
    assert not unconfined


@pytest.mark.ci
@needs_both
def test_what_cuts_a_graph_into_parts_is_confined_and_writes_them(tmp_path: Path, unconfined: set[str]) -> None:
    model, script = models.mlp(tmp_path).path, ("--set", "fake-a.fault=wrong")
    called = irbench_here("reduce", model, "--expect-wrong", "fake-a", "-o", tmp_path / "found", *script)
    assert called.code == 0, called.err
    assert (tmp_path / "found" / "reduced.onnx").is_file()
    assert not unconfined


@pytest.mark.parametrize("make", [lambda path: path.symlink_to("/etc/passwd"), os.mkfifo], ids=["link", "pipe"])
def test_what_a_confined_worker_writes_leads_nobody_elsewhere(tmp_path: Path, make: Callable[[Path], None]) -> None:
    made = tmp_path / "made"
    (made / "inner").mkdir(parents=True)
    (made / "inner" / "model.onnx").write_text("a model")
    requested_confinement.take_files(made)
    assert (made / "inner" / "model.onnx").read_text() == "a model"
    make(made / "inner" / "weights.bin")
    with pytest.raises(IrbenchError, match=r"made weights\.bin, which is not a file"):
        requested_confinement.take_files(made)
    assert list(tmp_path.iterdir()) == [made]


def test_a_folder_that_a_worker_closed_hides_no_link(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    closed = tmp_path / "made" / "inner"
    closed.mkdir(parents=True)
    listed = Path.iterdir

    def listed_unless_closed(folder: Path) -> Iterator[Path]:  # as of a user other than root
        if folder.name == "inner":
            raise PermissionError(errno.EACCES, "Permission denied", str(folder))
        return listed(folder)

    monkeypatch.setattr(Path, "iterdir", listed_unless_closed)
    with pytest.raises(IrbenchError, match=r"made inner, which is not a file that irbench can read"):
        requested_confinement.take_files(tmp_path / "made")


@needs_both
def test_what_outlives_a_worker_cannot_change_its_result(tmp_path: Path) -> None:
    made = tmp_path / "made"
    made.mkdir()
    with Worker(tmp_path / "log", confinement=Confinement(writable=(made,), for_runtime=True)) as survivor:
        survivor.ask("os:mkdir", str(made / "inner"), deadline_s=30)
        requested_confinement.take_files(made)
        assert (made / "inner").is_dir()
        for path in (made / "link", made / "inner" / "link"):
            with pytest.raises(CallFailed, match="Permission denied"):
                survivor.ask("os:symlink", "/etc/passwd", str(path), deadline_s=30)


def test_only_backends_are_confined_and_only_where_that_is_asked_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    artifact = Artifact("tf-graph", tmp_path / "graph.pb", (), ())
    cache = tmp_path / "cache"
    cache.mkdir()
    row = Cell("a", artifact, "openvino", "cpu", Load(options={"CACHE_DIR": str(cache), "LOG_FILE": "/var"}))
    own = Cell("b", artifact, "own", "cpu", Load(), program=Program("callable", "nets:build"))
    monkeypatch.delenv("IRBENCH_CONFINE", raising=False)
    assert confinement_of(row) is None
    monkeypatch.setenv("IRBENCH_CONFINE", "1")
    assert confinement_of(own) is None
    found = confinement_of(row, [tmp_path / "x.npz"])
    assert found == Confinement((tmp_path / "graph.pb", tmp_path / "x.npz"), (cache,), for_runtime=True)


@pytest.mark.parametrize("folder", ["/", "~", "~/..", "model", "link"])
def test_no_folder_that_holds_more_than_a_cache_is_given_away(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, folder: str
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path / "home" / "user"))
    monkeypatch.setenv("IRBENCH_CONFINE", "1")
    monkeypatch.setattr(requested_confinement, "require_confinement", lambda: None)
    for name in ("home/user", "model", "cache"):
        (tmp_path / name).mkdir(parents=True)
    (tmp_path / "link").symlink_to(tmp_path / "model")
    artifact = Artifact("tf-graph", tmp_path / "model" / "graph.pb", (), ())
    given = str(tmp_path / Path(folder).expanduser())
    with pytest.raises(IrbenchError, match="holds more than compiled code"):
        confinement_of(Cell("a", artifact, "openvino", "cpu", Load(options={"CACHE_DIR": given})))
    given = str(tmp_path / "cache")
    found = confinement_of(Cell("a", artifact, "openvino", "cpu", Load(options={"CACHE_DIR": given})))
    assert found is not None
    assert found.writable == (tmp_path / "cache",)
