"""A file of targets is read whole, or refused with what is wrong in it."""

from __future__ import annotations

from pathlib import Path

import pytest

from irbench.errors import ExitCode, IrbenchError
from irbench.features.fleet.targets import read_targets, this_machine


def written(folder: Path, text: str) -> Path:
    path = folder / "fleet.toml"
    path.write_text(text)
    return path


def test_every_key_is_read_and_paths_are_relative_to_the_file(tmp_path: Path):
    fleet = read_targets(
        written(
            tmp_path,
            """
            [requires]
            onnxruntime = "==1.23.*"
            [scheduler]
            host = "10.0.0.1"
            port = 8786
            [tls]
            ca = "ca.pem"
            cert = "cert.pem"
            key = "/etc/key.pem"
            [[targets]]
            name = "xeon"
            host = "bench@10.0.0.5"
            port = 2222
            identity = "keys/id"
            known-hosts = "keys/known"
            python = "/opt/irbench/bin/python"
            pool = "large"
            price-per-hour = 0.34
            variables = { IRBENCH_HOME = "/scratch" }
            """,
        )
    )
    (target,) = fleet.targets
    assert (target.name, target.host, target.port, target.shares) == ("xeon", "bench@10.0.0.5", 2222, "large")
    assert (target.identity, target.known_hosts) == (tmp_path / "keys/id", tmp_path / "keys/known")
    assert (target.python, target.price_per_hour) == ("/opt/irbench/bin/python", 0.34)
    assert target.variables == {"IRBENCH_HOME": "/scratch"}
    assert fleet.tls is not None
    assert (fleet.tls.ca, fleet.tls.key) == (tmp_path / "ca.pem", Path("/etc/key.pem"))
    assert (fleet.requires, fleet.scheduler.port) == ({"onnxruntime": "==1.23.*"}, 8786)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "targets = 1",
        "[[targets]]\nname = 'a'\nhots = 'b'",
        "[[targets]]\nhost = 'b'",
        "[[targets]]\nname = 'a b'",
        "[[targets]]\nname = 'a'\n[[targets]]\nname = 'a'\nhost = 'h'",
        "[[targets]]\nname = 'a'\nhost = 'h'\n[[targets]]\nname = 'b'\nhost = 'h'",
        "[[targets]]\nname = 'a'\n[[targets]]\nname = 'b'",
        "[[targets]]\nname = 'a'\nhost = '-oProxyCommand=x'",
        "[[targets]]\nname = 'a'\nprice-per-hour = -1.0",
        "[[targets]]\nname = 'a'\npool = 'a'",
        "[[targets]]\nname = 'a'\n[requires]\nonnxruntime = 'new'",
        "[[targets]\nname = 'a'",
        "[tls]\nca = 'x'\n[[targets]]\nname = 'a'",
    ],
)
def test_what_is_wrong_is_refused_before_anything_begins(tmp_path: Path, text: str):
    with pytest.raises(IrbenchError) as refusal:
        read_targets(written(tmp_path, text))
    assert refusal.value.exit_code == ExitCode.USAGE
    assert refusal.value.hint


def test_several_targets_on_one_machine_are_for_trying_it_out(tmp_path: Path):
    text = "same-machine = true\n[[targets]]\nname = 'a'\n[[targets]]\nname = 'b'"
    assert [target.name for target in read_targets(written(tmp_path, text)).targets] == ["a", "b"]


def test_a_file_that_is_not_there_is_refused(tmp_path: Path):
    with pytest.raises(IrbenchError):
        read_targets(tmp_path / "fleet.toml")


def test_without_a_file_this_machine_measures():
    (target,) = this_machine().targets
    assert not target.host
