"""Options are read as they are meant, or refused with an example of what they take."""

from __future__ import annotations

from typing import Any

import click
import pytest

from irbench.options import kinds
from irbench.options.kinds import Kind
from irbench.options.option import Option
from irbench.terminal.declared import click_option


def type_of(kind: Kind) -> click.ParamType[Any]:
    command = click_option("option", Option(kind, "Help."))(click.Command("command"))
    return command.params[0].type


@pytest.mark.parametrize(
    ("kind", "text", "value"),
    [
        (kinds.BACKENDS, "ort, openvino:gpu,ort", ("ort", "openvino:gpu")),
        (kinds.COUNTS, "1,8,1", (1, 8)),
        (kinds.COUNTS, " 4 ", (4,)),
        (kinds.THREADS, "2", 2),
        (kinds.THREADS, "native", "native"),
        (kinds.DURATION, "150s", 150.0),
        (kinds.DURATION, "90s", 90.0),
        (kinds.DURATION, "1.5m", 90.0),
        (kinds.DURATION, "2 h", 7200.0),
        (kinds.DURATION, "7d", 604800.0),
        (kinds.SHARE, "1%", 0.01),
        (kinds.SHARE, "0.5 %", 0.005),
        (kinds.CPUS, "0-1,4", (0, 1, 4)),
        (kinds.SHAPES, "tokens=1x128", ("tokens", (1, 128))),
        (kinds.SHAPES, "a=b=4", ("a=b", (4,))),
        (kinds.SETTINGS, "ort.session.intra=0=1", ("ort", "session.intra", "0=1")),
        (kinds.SETTINGS, "openvino.CACHE_DIR=", ("openvino", "CACHE_DIR", "")),
    ],
)
def test_an_option_is_read_as_it_is_meant(kind: Kind, text: str, value: object):
    converted = type_of(kind)
    assert converted.convert(text, None, None) == value
    assert converted.convert(value, None, None) == value


@pytest.mark.parametrize(
    ("kind", "texts"),
    [
        (kinds.BACKENDS, ("", "ort,", ",")),
        (kinds.COUNTS, ("", "0", "-1", "1,x", "1.5", "1,", "٣", "1e3")),
        (kinds.THREADS, ("0", "all", "-2", "")),
        (kinds.DURATION, ("", "0", "0s", "-5m", "5 weeks", "m", "1m30", "inf", "nan", "٣s")),
        (kinds.SHARE, ("", "1", "0%", "100%", "-1%", "x%", "nan%", "1%%")),
        (kinds.CPUS, ("", "a", "3-1", "0,", "-1", "1-")),
        (kinds.SHAPES, ("", "1x128", "=1", "a=", "a=0", "a=1x", "a=1x-2")),
        (kinds.SETTINGS, ("", "ort", "ort.KEY", "=1", ".KEY=1", "ort.=1", "KEY=1")),
    ],
)
def test_anything_else_is_refused_with_an_example(kind: Kind, texts: tuple[str, ...]):
    for text in texts:
        with pytest.raises(click.BadParameter) as caught:
            type_of(kind).convert(text, None, None)
        assert f"write it like {kind.metavar.replace('|', ' or ')}" in caught.value.message
        assert "invalid literal" not in caught.value.message
