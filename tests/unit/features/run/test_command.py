"""On a terminal, a run that names no model asks before it takes minutes."""

from __future__ import annotations

import io

import click
import pytest
from click.testing import CliRunner

from irbench.core import registry
from irbench.errors import ExitCode, IrbenchError
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
def test_the_question_names_the_model_and_the_backends(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("sys.stdin", Terminal())
    monkeypatch.setattr("sys.stderr", shown := Terminal())
    monkeypatch.setattr(click, "confirm", lambda *_, **_options: True)
    assert run.confirmed_first_run(RunOptions())
    assert "this exports resnet50 from TensorFlow" in shown.getvalue()
    assert "measures it on ort, tf (up to 90 s" in shown.getvalue()


@pytest.mark.usefixtures("outlook")
def test_without_a_terminal_nothing_is_exported_unasked(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("sys.stdin", io.StringIO())
    with pytest.raises(IrbenchError, match="No model is named") as caught:
        run.confirmed_first_run(RunOptions())
    assert "irbench run model.onnx" in caught.value.hint
    assert caught.value.exit_code is ExitCode.USAGE


@pytest.mark.usefixtures("outlook")
def test_without_a_framework_no_export_is_announced(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("sys.stdin", Terminal())
    monkeypatch.setattr("sys.stderr", shown := Terminal())
    monkeypatch.setattr("irbench.exporter.identity.installed_version", lambda _name: None)
    with pytest.raises(IrbenchError, match="tensorflow, keras, tf2onnx must be installed") as caught:
        run.confirmed_first_run(RunOptions())
    assert caught.value.exit_code is ExitCode.NOT_INSTALLED
    assert shown.getvalue() == ""
