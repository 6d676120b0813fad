"""What the coordinator takes from a reading of an ONNX file, and opens."""

from __future__ import annotations

import os
import signal
import threading
from contextlib import suppress
from functools import partial
from pathlib import Path

import hostile_files as hostile
import models
import psutil
import pytest
from processes import comes_true

from irbench.errors import ExitCode, IrbenchError
from irbench.features.cold.run import files_read
from irbench.onnx.reading.signature import Signature
from irbench.optimizer.lineage import digest_of_source
from irbench.runner import prepare
from irbench.spec import Artifact
from irbench.system.confinement import confinement_support
from irbench.worker import model_files, requested_confinement
from irbench.worker.isolated_call import IsolatedCall
from irbench.worker.model_files import (
    UnreadableFile,
    bound_shapes,
    most_memory_bytes,
    read_external_files,
    read_file,
    read_graph_precision,
    read_inventory,
    read_signature,
    require_sound_weights,
)


def test_weights_beside_a_file_are_found_and_counted(tmp_path: Path) -> None:
    artifact = Artifact("onnx", hostile.with_external()(tmp_path), (), ())
    assert read_external_files(artifact.path) == ("weights.bin",)
    files = prepare.with_graph_files(artifact).files
    assert files is not None
    assert files.size_bytes > (tmp_path / "weights.bin").stat().st_size


@pytest.mark.parametrize("location", ["/dev/zero", "../secret", "link", "/"])
def test_weights_elsewhere_are_opened_by_nobody(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, location: str) -> None:
    (tmp_path / "model").mkdir()
    (tmp_path / "secret").write_text("a secret")
    (tmp_path / "model" / "link").symlink_to("../secret")
    artifact = Artifact("onnx", hostile.with_external(location=location)(tmp_path / "model"), (), ())
    monkeypatch.setattr(prepare, "digest", lambda *_, **__: pytest.fail("a file was opened"))
    monkeypatch.setenv("IRBENCH_CONFINE", "1")
    monkeypatch.setattr(requested_confinement, "require_confinement", lambda: None)
    assert prepare.with_graph_files(artifact).files is None
    for reading in (
        lambda: read_external_files(artifact.path),
        lambda: require_sound_weights(artifact.path),
        lambda: files_read(artifact, ()),
        lambda: digest_of_source(artifact),
        lambda: requested_confinement.confinement_to(artifact),
    ):
        with pytest.raises(IrbenchError, match=r"outside its own folder|symbolic link"):
            reading()


@pytest.fixture
def model(tmp_path: Path) -> Path:
    return models.mlp(tmp_path).path


def read_with(function: str, path: Path, *args: object, **options: float) -> object:
    """Call a function of :mod:`isolated_reads` on a file."""
    return read_file(f"isolated_reads:{function}", path, *args, **options)  # type: ignore[arg-type]


def test_all_reads_of_a_process_share_a_worker_and_each_has_a_fork_of_its_own(model: Path) -> None:
    first, second = read_with("process_of", model), read_with("process_of", model)
    assert first[1] == second[1] != os.getpid()  # type: ignore[index]
    assert first[0] != second[0]  # type: ignore[index]


def test_who_reads_a_file_sees_no_secret_among_the_environment_variables(
    model: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    model_files.READER.close()  # it has the variables that there were when it started
    monkeypatch.setenv("HF_TOKEN", "a secret")
    seen = read_with("variables", model)
    assert isinstance(seen, list)
    assert "OPENBLAS_NUM_THREADS" in seen
    assert "HF_TOKEN" not in seen


def test_the_contents_are_those_that_reading_here_finds(model: Path) -> None:
    from irbench.onnx.reading import graph_precision, inventory, signature

    assert read_inventory(model) == inventory.take_inventory(model)
    assert read_signature(model) == signature.read(model)
    assert read_graph_precision(model) == graph_precision.read_precision(model)


def test_nodes_and_weights_are_walked_over_once(model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []
    call = model_files.READER.call

    def noted(what: IsolatedCall, deadline_s: float) -> object:
        asked.append(what.target)
        return call(what, deadline_s)

    monkeypatch.setattr(model_files.READER, "call", noted)
    read_inventory(model)
    read_graph_precision(model)
    assert asked == [
        "irbench.onnx.reading.inventory:take_inventory",
        "irbench.onnx.reading.graph_precision:read_precision",
    ]


def test_shapes_are_bound_as_they_are_here(tmp_path: Path) -> None:
    from irbench.onnx.rewriting.bind import bind

    artifact = models.two_inputs(tmp_path)
    sizes = {"batch": 2, "length": 7}
    there, here = bound_shapes(artifact, sizes, tmp_path / "a"), bind(artifact, sizes, tmp_path / "b")
    assert there.path.read_bytes() == here.path.read_bytes()
    assert there.inputs == here.inputs


def test_a_crash_is_one_error_and_the_next_read_succeeds(model: Path) -> None:
    with pytest.raises(UnreadableFile, match="crashed with SIGSEGV") as caught:
        read_with("crash", model)
    assert caught.value.cause == "crash"
    assert read_with("process_of", model)


def test_memory_is_limited(model: Path) -> None:
    with pytest.raises(UnreadableFile, match=r"needs more than the 0\.5 GB of memory") as caught:
        read_with("take_memory", model, 1 << 30)
    assert caught.value.cause == "memory"
    assert read_with("take_memory", model, 1 << 20) == 1 << 20


def test_the_limit_follows_the_size_of_the_file_up_to_what_there_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(model_files.host, "available_memory_bytes", lambda: 10 << 30)
    assert most_memory_bytes(0) < most_memory_bytes(1 << 20) < 1 << 30
    assert most_memory_bytes(1 << 31) == 10 << 30
    monkeypatch.setattr(model_files.host, "available_memory_bytes", lambda: 0)
    assert most_memory_bytes(1 << 31) == 1 << 30  # Python needs room, too


def test_a_read_that_does_not_end_is_ended(model: Path) -> None:
    with pytest.raises(UnreadableFile, match="could not be read within 0 s") as caught:
        read_with("never_end", model, deadline_s=0.2)
    assert caught.value.cause == "deadline"
    assert "harm" not in caught.value.hint
    assert "a graph of very many nodes takes long" in caught.value.hint
    assert read_with("process_of", model)


def test_a_file_that_shrinks_while_it_is_mapped_is_one_error(model: Path) -> None:
    _, worker = read_with("process_of", model)  # type: ignore[misc]

    def truncate() -> None:
        assert comes_true(lambda: any(maps_model(child.pid) for child in psutil.Process(worker).children()))
        os.truncate(model, 0)

    def maps_model(process: int) -> bool:
        with suppress(OSError):  # that of the call before has just ended
            return str(model) in Path(f"/proc/{process}/maps").read_text()
        return False

    shrinking = threading.Thread(target=truncate)
    shrinking.start()
    with pytest.raises(IrbenchError, match="changed while it was read"):
        read_with("map_until_empty", model)
    shrinking.join()


def test_a_file_that_is_replaced_meanwhile_is_one_error(model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ask = model_files.READER.call

    def replace_and_call(*arguments: object) -> object:
        answer = ask(*arguments)  # type: ignore[arg-type]
        model.write_bytes(model.read_bytes() + b"\0")
        return answer

    monkeypatch.setattr(model_files.READER, "call", replace_and_call)
    with pytest.raises(IrbenchError, match="changed while it was read"):
        read_inventory(model)


def test_what_a_function_raises_arrives_with_its_remedy(model: Path) -> None:
    with pytest.raises(IrbenchError, match=r"This is wrong\.") as refused:
        read_with("refuse", model)
    assert (refused.value.hint, refused.value.exit_code) == ("Fix it.", ExitCode.NOT_INSTALLED)
    with pytest.raises(IrbenchError, match="cannot be read: ValueError: no such thing") as failed:
        read_with("fail", model)
    assert failed.value.exit_code == ExitCode.USAGE


@pytest.mark.skipif(not confinement_support().landlock, reason="this kernel offers no Landlock")
def test_no_other_file_of_the_users_can_be_read(model: Path) -> None:
    secret = model.with_name("secret")
    secret.write_text("a secret")
    with pytest.raises(IrbenchError, match="Permission denied"):
        read_with("read_other", model, str(secret))
    assert read_with("read_other", model, str(model)) == model.read_bytes()


def test_an_answer_that_would_run_code_here_is_refused(model: Path) -> None:
    with pytest.raises(UnreadableFile, match="could not be read") as caught:
        read_with("break_out", model)
    assert caught.value.cause == "answer"


def test_an_answer_of_another_type_is_refused(model: Path) -> None:
    assert read_file("isolated_reads:process_of", model, returns=tuple[int, int])
    for returns in (tuple[int, str], tuple[int, int, int], list[str], str, Signature, int | None):
        with pytest.raises(UnreadableFile, match="of another type"):
            read_file("isolated_reads:process_of", model, returns=returns)


def test_an_answer_that_is_too_long_is_refused_unread(model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(model_files, "IsolatedCall", partial(IsolatedCall, most_answer_bytes=1 << 16))
    with pytest.raises(UnreadableFile, match="more nodes, weights or names than irbench reads"):
        read_with("answer", model, 1 << 20)
    assert read_with("answer", model, 1 << 10) == bytes(1 << 10)


def test_a_worker_that_was_ended_is_started_again(model: Path) -> None:
    _, worker = read_with("process_of", model)  # type: ignore[misc]
    os.kill(worker, signal.SIGKILL)
    assert read_with("process_of", model)[1] != worker  # type: ignore[index]


def test_a_thread_that_has_ended_takes_no_later_read_with_it(model: Path) -> None:
    model_files.READER.close()
    thread = threading.Thread(target=read_inventory, args=(model,))
    thread.start()
    thread.join()
    assert read_inventory(model).nodes
