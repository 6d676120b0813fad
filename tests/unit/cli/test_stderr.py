"""Broken plugins are told on stderr, once each, whatever ends a command."""

from __future__ import annotations

import warnings
from pathlib import Path

import pytest

from irbench.cli.output.stderr import home_warnings_told, plugin_warnings_told
from irbench.errors import IrbenchError
from irbench.registry import PluginWarning
from irbench.system.home_warning import HomeWarning


@plugin_warnings_told()
def failing_command() -> None:
    for _ in range(2):
        warnings.warn("irbench-shaky is broken.", PluginWarning, stacklevel=1)
    raise IrbenchError("It broke.")


def test_a_broken_plugin_is_told_once_also_where_the_command_fails(capsys: pytest.CaptureFixture[str]):
    with pytest.raises(IrbenchError):
        failing_command()
    assert capsys.readouterr().err == "warning: irbench-shaky is broken.\n"


def test_where_models_are_kept_is_told_and_other_warnings_show_as_before(capsys: pytest.CaptureFixture[str]):
    before = warnings.showwarning
    with home_warnings_told(), pytest.warns(UserWarning, match="another") as others:
        warnings.warn("another", UserWarning, stacklevel=1)
    assert len(others) == 1
    with home_warnings_told():
        warnings.warn(HomeWarning(Path("/image"), Path("/tmp/irbench-1")), stacklevel=1)
    assert capsys.readouterr().err.startswith("warning: /image cannot be written: models are kept in /tmp/irbench-1.")
    assert warnings.showwarning is before
