"""Targets are reached over ssh with keys that are known, and what cannot be reached is a line that says what to do."""

from __future__ import annotations

import shlex
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import models
import psutil
import pytest
import ssh_server
from fake_runs import FASTEST_PLAN
from fleet_processes import job_processes, nothing_is_left, waited_for
from front_door import irbench_process as irbench
from ssh_server import SshServer

from irbench.errors import ExitCode
from irbench.store.listing import list_runs

pytest.importorskip("distributed")
pytest.importorskip("asyncssh")

pytestmark = [
    pytest.mark.ci,
    pytest.mark.usefixtures("known_backends"),
    pytest.mark.skipif(ssh_server.PROGRAM is None, reason="sshd is not installed: apt-get install openssh-server"),
]


@pytest.fixture
def server(tmp_path: Path) -> Iterator[SshServer]:
    models.mlp(tmp_path)
    (tmp_path / "plan.toml").write_text(f'{FASTEST_PLAN}backends = "fake-a"\n[[matrix]]\nbatch = [1, 2]\n')
    (tmp_path / "ssh").mkdir()
    with ssh_server.ssh_server(tmp_path / "ssh") as running:
        yield running


@pytest.fixture
def variables(own_home: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """The variables with which the other side finds the scripted backends, and its own folder."""
    import os

    names = ("PYTHONPATH", "IRBENCH_HOME", "IRBENCH_LOCK")
    shown = ", ".join(f'{name} = "{os.environ[name]}"' for name in names if name in os.environ)
    return f"variables = {{ {shown} }}\n"


def written(folder: Path, *targets: str) -> Path:
    path = folder / "fleet.toml"
    path.write_text("same-machine = true\n" + "".join(targets))
    return path


def command(folder: Path, targets: Path) -> tuple[str, ...]:
    words = ("fleet", "run", folder / "plan.toml", "--targets", targets, "--results", folder / "results")
    return tuple(map(str, words))


def test_a_target_that_is_reached_over_ssh_measures_and_one_that_is_not_is_a_line(
    server: SshServer, variables: str, tmp_path: Path
):
    targets = written(
        tmp_path,
        server.target("near"),
        variables,
        'pool = "both"\n',
        server.target("stranger", identity="stranger"),
        'pool = "both"\n',
    )
    called = irbench(*command(tmp_path, targets), "--format", "json")
    assert called.code == ExitCode.FAILED_CELL, called.err
    assert [(table["target"], bool(table["run"])) for table in called.document["tables"]] == [("near", True)] * 2
    problems = {target["name"]: bool(target["problem"]) for target in called.document["targets"]}
    assert problems == {"near": False, "stranger": True}
    assert nothing_is_left()


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"identity": "stranger"}, "authorized_keys"),
        ({"known": "nobody"}, "ssh-keyscan"),
        ({"port": 1}, "ssh -p 1"),
        ({"identity": "missing"}, "identity"),
    ],
)
def test_a_target_that_cannot_be_used_ends_the_call_with_what_to_do(
    server: SshServer, variables: str, tmp_path: Path, changes: dict[str, object], said: str
):
    called = irbench(*command(tmp_path, written(tmp_path, server.target("far", **changes), variables)))
    assert called.code == ExitCode.USAGE
    *_, error, hint = called.err.splitlines()
    assert (error.startswith("error: far"), said in hint) == (True, True)
    assert not (tmp_path / "results" / "fleets").exists()


def test_a_connection_that_is_cut_loses_the_job_but_nothing_else(server: SshServer, variables: str, tmp_path: Path):
    targets = written(tmp_path, server.target("far"), variables)
    call = subprocess.Popen(
        (sys.executable, "-m", "irbench", *command(tmp_path, targets)),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    with call:
        (job,) = waited_for(lambda: job_processes(server.process.pid))
        for child in psutil.Process(server.process.pid).children():
            child.send_signal(signal.SIGKILL)
        job.wait()
        _, err = call.communicate()
    assert call.returncode == ExitCode.OK, err
    entries = list_runs(tmp_path / "results").entries
    assert sorted(entry.batches for entry in entries) == [(1,), (2,)]


def test_a_cluster_that_is_held_up_is_joined_by_other_calls_and_takes_its_keys_with_it(
    server: SshServer, variables: str, tmp_path: Path
):
    cluster = tmp_path / "cluster.toml"
    targets = written(tmp_path, server.target("far"), variables)
    words = (sys.executable, "-m", "irbench", "fleet", "up", str(targets), "-o", str(cluster))
    in_background = shlex.join(("exec", *words))  # a shell that runs a script has it ignore SIGINT then
    with subprocess.Popen(("sh", "-c", f"trap '' INT; {in_background}"), stderr=subprocess.PIPE, text=True) as held:
        waited_for(lambda: cluster.exists() or held.poll() is not None)
        assert held.poll() is None, held.communicate()
        assert (tmp_path / "cluster-key.pem").stat().st_mode & 0o077 == 0
        called = irbench(*command(tmp_path, cluster), "--format", "json")
        assert called.code == ExitCode.OK, called.err
        assert {table["target"] for table in called.document["tables"]} == {"far"}
        held.send_signal(signal.SIGINT)
        held.communicate()
    assert not list(tmp_path.glob("cluster*"))
    assert nothing_is_left()
