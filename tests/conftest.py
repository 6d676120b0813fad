"""What every test relies on: workers find the modules of this folder, and no test touches the user's files."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path

import fake_answers
import known_answers
import pytest
from hypothesis import settings
from turns import pytest_addoption, pytest_collection_modifyitems, pytest_report_header  # noqa: F401 - hooks of pytest

from irbench.measure import clock, disturbances, drive, kernel_evidence
from irbench.runner import launch

# Fast tests try the same few examples everywhere, so that a failure is one of the change.
settings.register_profile("repeatable", derandomize=True, max_examples=30, deadline=None)
settings.register_profile("explore", max_examples=1000, deadline=None)
settings.load_profile("repeatable")


@pytest.fixture(autouse=True)
def real_clock(monkeypatch: pytest.MonkeyPatch) -> None:
    """Take back, after each test, what a scripted backend put in the place of the clock of this process."""
    for module in (clock, drive, kernel_evidence):
        monkeypatch.setattr(module, "now_ns", module.now_ns)  # type: ignore[attr-defined]
    monkeypatch.setattr(kernel_evidence, "wait_in_run_queue_ns", kernel_evidence.wait_in_run_queue_ns)


@pytest.fixture(autouse=True, scope="session")
def quiet_machine() -> Iterator[None]:
    """Let runs of this process see no other programs, quota or hypervisor, whatever is busy beside the tests.

    Figures of the scripted backends are exact on any machine, and so are then the verdicts. A test of a busy machine
    says itself what is seen there.
    """

    def undisturbed(cpus: Iterable[int] | None = None) -> disturbances.MachineSnapshot:
        return replace(disturbances.snapshot(cpus), throttled_ns=0, steal_ns=0)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(launch, "snapshot", undisturbed)
        patch.setattr(launch, "foreign_cpu_of_turn_ns", lambda *_: 0)
        patch.setattr(launch, "foreign_cpu_ns", lambda *_: 0)
        yield


@pytest.fixture(autouse=True, scope="session")
def signals_are_obeyed() -> Iterator[None]:
    """Let processes of tests obey the signals that this one ignores, as under nohup or in a job of the background.

    They would inherit that. What has a handler they have none for.
    """
    handlers = {signal.SIGINT: signal.default_int_handler, signal.SIGHUP: lambda *_: None}
    ignored = [number for number in handlers if signal.getsignal(number) is signal.SIG_IGN]
    for number in ignored:
        signal.signal(number, handlers[number])
    yield
    for number in ignored:
        signal.signal(number, signal.SIG_IGN)


@pytest.fixture(autouse=True, scope="session")
def common_home(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Keep what fixtures of modules do out of the user's folders; all workers of a session share the bundles' one."""
    own = tmp_path_factory.getbasetemp()
    is_worker_of_xdist = hasattr(request.config, "workerinput")
    common = (own.parent if is_worker_of_xdist else own) / "common"
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("IRBENCH_HOME", str(common))
        patch.setenv(fake_answers.FOLDER, str(common / "answers"))
        patch.setenv("IRBENCH_RESULTS", str(own / "results"))
        patch.setenv("IRBENCH_LOCK", str(own / "lock"))  # tests run side by side
        known_answers.keep(common / "known", patch)
        yield common


@pytest.fixture(autouse=True)
def own_home(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Give each test empty folders for bundles and results, and a machine of its own to measure on."""
    home = tmp_path_factory.mktemp("home")
    monkeypatch.setenv("IRBENCH_HOME", str(home / "cache"))
    monkeypatch.setenv("IRBENCH_RESULTS", str(home / "results"))
    monkeypatch.setenv("IRBENCH_LOCK", str(home / "lock"))  # tests run side by side
    monkeypatch.delenv("COLUMNS", raising=False)  # pytest-xdist sets it, and tables would be cut to it
    return home


@pytest.fixture(autouse=True, scope="session")
def activated_environment() -> None:
    """Let shells find the programs of this environment, so that hints name its ``pip`` without its path."""
    os.environ["PATH"] = os.pathsep.join((str(Path(sys.executable).parent), os.environ.get("PATH", os.defpath)))


@pytest.fixture
def known_backends(own_home: Path, common_home: Path) -> None:
    """Let tests share what the backends found on this machine: each backend looks once in a session."""
    (common_home / "probes").mkdir(parents=True, exist_ok=True)
    (own_home / "cache").mkdir()
    (own_home / "cache" / "probes").symlink_to(common_home / "probes")


@pytest.fixture(autouse=True, scope="session")
def modules_of_this_folder() -> None:
    """Let every process that a test starts import what stands beside this file.

    OpenBLAS starts a thread for each processor when NumPy is imported, a quarter of that import's time. Cells of a run
    have a number of threads of their own.
    """
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    paths = [str(Path(__file__).parent), *filter(None, [os.environ.get("PYTHONPATH")])]
    os.environ["PYTHONPATH"] = os.pathsep.join(paths)
