"""Broken plugins are told on stderr, once each, whatever ends a command; lines are wrapped for people alone."""

from __future__ import annotations

import sys
import warnings
from pathlib import Path

import pytest

from irbench.core.registry import PluginWarning
from irbench.errors import IrbenchError
from irbench.system.home_warning import HomeWarning
from irbench.terminal.stderr import home_warnings_shown, plugin_warnings_shown, say, say_in_width

LINE = "error: one two three four five"


@plugin_warnings_shown()
def failing_command() -> None:
    for _ in range(2):
        warnings.warn("irbench-shaky is broken.", PluginWarning, stacklevel=1)
    raise IrbenchError("It broke.")


def test_a_broken_plugin_is_told_once_also_where_the_command_fails(capsys: pytest.CaptureFixture[str]):
    with pytest.raises(IrbenchError):
        failing_command()
    assert capsys.readouterr().err == "warning: irbench-shaky is broken.\n"


def test_where_models_are_kept_is_told_at_the_end_and_other_warnings_show_as_before(capsys: pytest.CaptureFixture[str]):
    before = warnings.showwarning
    with home_warnings_shown(), pytest.warns(UserWarning, match="another") as others:
        warnings.warn("another", UserWarning, stacklevel=1)
    assert len(others) == 1
    with home_warnings_shown():
        for _ in range(2):
            warnings.warn(HomeWarning(Path("/image"), Path("/tmp/irbench-1")), stacklevel=1)
        assert capsys.readouterr().err == ""
    assert capsys.readouterr().err.startswith("warning: /image cannot be written: models are kept in /tmp/irbench-1.")
    assert warnings.showwarning is before


@pytest.mark.parametrize(
    ("is_terminal", "shown"),
    [(False, f"  {LINE}\n"), (True, "  error: one two\n  three four five\n")],
)
def test_a_line_is_wrapped_on_a_terminal_alone(
    is_terminal: bool, shown: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    monkeypatch.setattr(sys.stderr, "isatty", lambda: is_terminal)
    monkeypatch.setenv("COLUMNS", "18")
    say_in_width(LINE, indent="  ")
    assert capsys.readouterr().err == shown


@pytest.mark.parametrize(
    ("is_terminal", "shown"),
    [(False, "warning: one two three\nmodels: a b c d\n"), (True, "warning: one\ntwo three\nmodels: a b c d\n")],
)
def test_of_other_lines_warnings_alone_are_wrapped(
    is_terminal: bool, shown: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    monkeypatch.setattr(sys.stderr, "isatty", lambda: is_terminal)
    monkeypatch.setenv("COLUMNS", "12")
    say("warning: one two three")
    say("models: a b c d")
    assert capsys.readouterr().err == shown


def test_without_a_known_width_a_terminal_is_as_wide_as_usual(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    monkeypatch.setattr(sys.stderr, "fileno", lambda: -1)
    monkeypatch.delenv("COLUMNS", raising=False)
    say_in_width("word " * 40)
    assert max(map(len, capsys.readouterr().err.splitlines())) == 79
