"""Workers of another interpreter find irbench and the backends, and nothing else of ours."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from fake_environments import RUNTIME, make_environment

from irbench.core import registry
from irbench.errors import IrbenchError
from irbench.worker import Worker, call_in_worker
from irbench.worker.interpreters import source_folder, worker_process

PATIENCE_S = 60


@pytest.fixture(scope="module")
def python(tmp_path_factory: pytest.TempPathFactory) -> str:
    return str(make_environment(tmp_path_factory.mktemp("environment"), "2.0"))


def ask(python: str, target: str, *args: object) -> object:
    return call_in_worker(target, *args, deadline_s=PATIENCE_S, python=python)


def test_the_worker_runs_in_the_other_interpreter_and_with_our_irbench(python: str) -> None:
    assert ask(python, "os:getenv", "PYTHONPATH") is None
    found = ask(python, "importlib.util:find_spec", "irbench")
    assert Path(found.origin).parent == source_folder() / "irbench"  # type: ignore[attr-defined]


@pytest.mark.parametrize("module", ["worker.__main__", "worker.cell_hosts", "worker.probing", "features.verify.trial"])
def test_what_other_interpreters_run_needs_no_library_that_their_environments_lack(module: str) -> None:
    lacking = "import sys; sys.modules.update(dict.fromkeys(('msgspec', 'rich', 'click')));"
    subprocess.run([sys.executable, "-c", f"{lacking} import irbench.{module}"], check=True)


def test_a_description_is_that_of_the_other_environment(python: str) -> None:
    found = ask(python, "irbench.core.registry:describe", registry.BACKENDS, "fake-versioned")
    assert found.version == "2.0"  # type: ignore[attr-defined]
    assert registry.describe(registry.BACKENDS, "fake-versioned").version is None
    assert ask(python, "importlib.metadata:version", RUNTIME) == "2.0"


def test_the_links_lead_to_irbench_and_the_modules_of_backends_alone() -> None:
    names = {path.name.partition(".")[0] for path in source_folder().iterdir()}
    backends = {
        registry.entry_point(registry.BACKENDS, name).value.partition(":")[0].partition(".")[0]
        for name in registry.names(registry.BACKENDS)
    }
    assert backends | {"irbench"} <= names
    assert not names & {"numpy", "onnx", "msgspec", "onnxruntime"}


def test_a_package_that_the_other_environment_lacks_is_not_taken_from_ours(tmp_path: Path) -> None:
    python = make_environment(tmp_path, "2.0")
    (borrowed,) = tmp_path.glob("lib/*/site-packages/borrowed.pth")
    borrowed.unlink()
    with Worker(tmp_path / "log", python=str(python)) as worker, pytest.raises(IrbenchError):
        worker.ask("builtins:len", (), deadline_s=PATIENCE_S)
    assert "No module named" in (tmp_path / "log").read_text()


def test_an_interpreter_that_is_not_there_is_an_error_of_the_users(tmp_path: Path) -> None:
    with pytest.raises(IrbenchError, match="/nowhere/python cannot be started: No such file"):
        Worker(tmp_path / "log", python="/nowhere/python")


def test_our_own_interpreter_is_started_as_ever() -> None:
    assert worker_process(None)[0][1:] == ["-P", "-m", "irbench.worker"]


def test_the_environments_of_tests_lack_what_only_stores_and_shows_results(python: str) -> None:
    for name in ("msgspec", "click", "rich", "pydantic"):
        with pytest.raises(IrbenchError, match=f"No module named '{name}'"):
            ask(python, "importlib:import_module", name)
