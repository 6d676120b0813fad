"""On a terminal, a run that names no model asks before it takes minutes."""

from __future__ import annotations

import io

import click
import pytest
from click.testing import CliRunner

from irbench.core import registry
from irbench.features.run import command as run
from irbench.options.run import RunOptions


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture
def outlook(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("irbench.requests.resolve.is_first_run", lambda *_, **_options: True)
    monkeypatch.setattr(registry, "installed_backends", lambda: ("ort", "tf"))


@pytest.mark.usefixtures("outlook")
def test_whoever_says_no_measures_nothing(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("sys.stdin", Terminal("n\n"))
    monkeypatch.setattr("sys.stderr", Terminal())
    monkeypatch.setattr(click, "confirm", lambda *_, **_options: False)
    assert not run.confirmed_first_run(RunOptions())


def test_a_declined_run_is_no_error(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(run, "confirmed_first_run", lambda _asked: False)
    result = CliRunner().invoke(run.command, [])
    assert (result.exit_code, result.stdout) == (0, "")
    assert "Nothing was measured." in result.stderr


@pytest.mark.usefixtures("outlook")
def test_elsewhere_it_is_said_and_nobody_is_asked(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]):
    monkeypatch.setattr("sys.stdin", io.StringIO())
    assert run.confirmed_first_run(RunOptions())
    said = capsys.readouterr().err
    assert "this exports resnet50 from TensorFlow" in said
    assert "measures it on ort, tf (up to 90 s" in said
