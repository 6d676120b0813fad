"""Broken plugins are told on stderr, once each, whatever ends a command."""

from __future__ import annotations

import warnings

import pytest

from irbench.cli.output.stderr import plugin_warnings_told
from irbench.errors import IrbenchError
from irbench.registry import PluginWarning


@plugin_warnings_told()
def failing_command() -> None:
    for _ in range(2):
        warnings.warn("irbench-shaky is broken.", PluginWarning, stacklevel=1)
    raise IrbenchError("It broke.")


def test_a_broken_plugin_is_told_once_also_where_the_command_fails(capsys: pytest.CaptureFixture[str]):
    with pytest.raises(IrbenchError):
        failing_command()
    assert capsys.readouterr().err == "warning: irbench-shaky is broken.\n"
