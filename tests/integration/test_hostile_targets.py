"""A target may lie about its figures; it runs no code here beyond a process that has nothing to take or to break."""

from __future__ import annotations

import json
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from typing import Any

import hostile_target
import models
import psutil
import pytest
from fleet_processes import Place, nothing_is_left, waited_for
from front_door import irbench_process as irbench

from irbench.errors import ExitCode
from irbench.features.fleet.dask_process import WORKER_PORTS
from irbench.store.listing import list_runs
from irbench.system.confinement import confinement_support

pytest.importorskip("distributed")
pytest.importorskip("asyncssh")

pytestmark = [pytest.mark.ci, pytest.mark.usefixtures("known_backends")]
held = pytest.mark.skipif(
    confinement_support().landlock < 6 or not confinement_support().seccomp,
    reason="needs Landlock 6 (Linux 6.12) and seccomp",
)
ATTEMPTS = (
    *("read", "write", "list", "times", "scratch", "program", "fork", "signal"),
    *("tcp", "mptcp", "udp", "unix", "unix datagram", "bind", "listen"),
)
REFUSED = {**dict.fromkeys(ATTEMPTS, "PermissionError"), "temporary": "FileNotFoundError", "secret": "False"}


class Scene(Place):
    """Two targets of one pool, of which the left one is hostile, and the reports of code that it has run here."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.reports: list[dict[str, Any]] = []
        (folder / "secret").write_text("secret")
        self.report, self.other, self.unix = (
            _listening_worker_port(),
            socket.create_server(("127.0.0.1", 0)),
            socket.socket(socket.AF_UNIX),
        )
        self.unix.bind(str(folder / "unix"))
        self.unix.listen()
        threading.Thread(target=self._hear, daemon=True).start()

    def _hear(self) -> None:
        while True:
            try:
                told, _ = self.report.accept()
            except OSError:
                return
            with told, told.makefile("rb") as text:
                self.reports.append(json.loads(text.read()))

    def write_hostile(self, *attacks: str) -> None:
        """Write a file of an honest target, and one for each attack, all of one pool."""
        variables = {
            "DASK_DISTRIBUTED__WORKER__PRELOAD": hostile_target.__file__,
            "SECRET": self.folder / "secret",
            "UNIX": self.folder / "unix",
            "REPORT": self.report.getsockname()[1],
            "OTHER": self.other.getsockname()[1],
        }
        shown = ", ".join(f'{name} = "{value}"' for name, value in variables.items())
        self.write_targets()
        _, _, honest = self.targets.read_text().split("[[targets]]")
        targets = (
            honest.replace('"right"', f'"{attack}"').replace("{ ", f'{{ {shown}, HOSTILE = "{attack}", ')
            for attack in attacks
        )
        self.targets.write_text("\n[[targets]]".join(("same-machine = true\n", honest, *targets)))

    def close(self) -> None:
        """Close what listens."""
        for each in (self.report, self.other, self.unix):
            each.close()


def _listening_worker_port() -> socket.socket:
    for port in reversed(WORKER_PORTS):
        try:
            return socket.create_server(("127.0.0.1", port))
        except OSError:
            continue
    raise AssertionError


@pytest.fixture
def scene(tmp_path: Path, own_home: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Scene]:
    models.mlp(tmp_path)
    monkeypatch.setenv("IRBENCH_TEST_SECRET", "secret")
    with closing(Scene(tmp_path)) as made:
        yield made


@held
def test_code_of_a_target_reaches_nothing_here(scene: Scene):
    attacks = ("type_of_a_result", "exception", "result", "warning", "header_of_bytes")
    scene.write_hostile(*attacks)
    words = ("fleet", "doctor", "--targets", str(scene.targets), "--format", "json")
    with subprocess.Popen(
        (sys.executable, "-P", "-m", "irbench", *words), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as call:
        out, err = call.communicate()
    assert call.returncode == ExitCode.FAILED_CELL, err
    assert "Traceback" not in err
    for report in scene.reports:
        pid = report.pop("pid")
        assert (pid == call.pid, report) == (False, {**REFUSED, "attack": report["attack"]})
    ran = {report["attack"] for report in scene.reports}
    assert ran == {*attacks}
    assert not (scene.folder / "harm").exists()
    problems = {target["name"]: bool(target["problem"]) for target in json.loads(out)["targets"]}
    assert problems == {"right": False, "type_of_a_result": False, **dict.fromkeys(attacks[1:], True)}
    assert nothing_is_left()


def test_a_target_that_sends_what_nobody_asked_for_is_refused_by_name_and_the_others_go_on(scene: Scene):
    scene.write_hostile("endless", "stolen_run")
    called = irbench(*scene.command("--format", "json"))
    assert called.code == ExitCode.FAILED_CELL, called.err
    scene.require_each_table_once(called.document)
    assert {row["target"] for row in called.document["rows"]} == {"right"}
    problems = {
        target["name"]: target["problem"] and target["problem"]["code"] for target in called.document["targets"]
    }
    assert problems == {"right": None, "endless": "answers-otherwise", "stolen_run": "not-asked"}


def test_modules_in_the_folder_and_among_temporary_files_are_imported_by_no_process_of_a_fleet(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
):
    planted, temporary = scene.folder / "planted", scene.folder / "tmp"
    for folder in (planted, temporary / "dask-scratch-space"):
        folder.mkdir(parents=True)
        for name in ("distributed", "dask", "tornado", "msgspec", "numpy", "psutil", "cloudpickle", "sitecustomize"):
            (folder / f"{name}.py").write_text(f"open({str(scene.folder / 'harm')!r}, 'a').write(__file__)\n")
    monkeypatch.setenv("TMPDIR", str(temporary))
    called = irbench(*scene.command("--format", "json"), folder=planted)
    assert called.code == ExitCode.OK, called.err
    doctor = irbench("fleet", "doctor", "--targets", scene.targets, folder=planted)
    assert doctor.code == ExitCode.OK, doctor.err
    assert not (scene.folder / "harm").exists()


@contextmanager
def _silent_connections(port: int, count: int) -> Iterator[None]:
    with ExitStack() as stack:
        for _ in range(count):
            stack.enter_context(socket.create_connection(("127.0.0.1", port)))
        yield


def test_no_http_is_served_and_whoever_connects_and_says_nothing_stops_nobody(scene: Scene):
    scene.write_targets()
    with scene.begun() as call:
        (dask,) = (
            child for child in psutil.Process(call.pid).children() if "dask_process" in " ".join(child.cmdline())
        )
        processes = [dask, *(each for each in psutil.Process(call.pid).children() if each.pid != dask.pid)]
        listening = {
            (process.pid, each.laddr.ip, each.laddr.port)
            for process in processes
            for each in process.net_connections("tcp")
            if each.status == psutil.CONN_LISTEN
        }
        assert {ip for _, ip, _ in listening} == {"127.0.0.1"}
        (port,) = (port for pid, _, port in listening if pid == dask.pid)
        others = [port for pid, _, port in listening if pid != dask.pid]
        assert (len(others), {*others} <= {*WORKER_PORTS}) == (2, True)  # a port each, and none of HTTP
        with _silent_connections(port, 900):
            out, err = call.communicate()
    assert call.returncode == ExitCode.OK, err
    assert out


def test_two_fleets_at_once_leave_a_users_own_dask_alone_and_import_none(scene: Scene):
    """A notebook's process has fleets beside a cluster of its own."""
    code = f"""
import sys, threading
import irbench
def measure(name):
    irbench.fleet({str(scene.folder / "plan.toml")!r}, targets={str(scene.targets)!r}, name=name,
                  results={str(scene.results)!r}, only=("batch=1",), progress=None)
threads = [threading.Thread(target=measure, args=(name,)) for name in ("one", "two")]
for thread in threads: thread.start()
for thread in threads: thread.join()
assert "distributed" not in sys.modules and "dask" not in sys.modules
from distributed import LocalCluster
with LocalCluster(n_workers=1, processes=False, dashboard_address=None) as cluster, cluster.get_client() as client:
    assert client.submit(dict, a=1).result() == {{"a": 1}}
"""
    subprocess.run((sys.executable, "-c", code), check=True)
    assert [entry.batches for entry in list_runs(scene.results).entries] == [(1,), (1,)]


def test_variables_of_a_target_are_no_arguments_of_any_process(scene: Scene):
    scene.write_targets()
    scene.targets.write_text(scene.targets.read_text().replace("variables = {", 'variables = { TOKEN = "hunter2",'))
    with scene.begun() as call:
        processes = [psutil.Process(call.pid), *psutil.Process(call.pid).children(recursive=True)]
        words = [word for process in processes for word in process.cmdline()]
        assert words
        assert not any("hunter2" in word for word in words)
        workers = waited_for(lambda: [process for process in processes if process.environ().get("TOKEN") == "hunter2"])
        assert workers
        call.kill()
