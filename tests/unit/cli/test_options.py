"""Options are read as they are meant, or refused with an example of what they take."""

from __future__ import annotations

from typing import Any

import click
import pytest

from irbench.cli.options import types as options


@pytest.mark.parametrize(
    ("kind", "text", "value"),
    [
        (options.BACKENDS, "ort, openvino:gpu,ort", ("ort", "openvino:gpu")),
        (options.COUNTS, "1,8,1", (1, 8)),
        (options.COUNTS, " 4 ", (4,)),
        (options.THREADS, "2", 2),
        (options.THREADS, "native", "native"),
        (options.DURATION, "150", 150.0),
        (options.DURATION, "90s", 90.0),
        (options.DURATION, "1.5m", 90.0),
        (options.DURATION, "2 h", 7200.0),
        (options.DURATION, "7d", 604800.0),
        (options.PERCENT, "1%", 0.01),
        (options.PERCENT, "0.5 %", 0.005),
        (options.CPUS, "0-1,4", (0, 1, 4)),
        (options.SHAPE, "tokens=1x128", ("tokens", (1, 128))),
        (options.SHAPE, "a=b=4", ("a=b", (4,))),
        (options.SETTING, "ort.session.intra=0=1", ("ort", "session.intra", "0=1")),
        (options.SETTING, "openvino.CACHE_DIR=", ("openvino", "CACHE_DIR", "")),
    ],
)
def test_an_option_is_read_as_it_is_meant(kind: Any, text: str, value: object):
    assert kind.convert(text, None, None) == value
    assert kind.convert(value, None, None) == value


@pytest.mark.parametrize(
    ("kind", "texts"),
    [
        (options.BACKENDS, ("", "ort,", ",")),
        (options.COUNTS, ("", "0", "-1", "1,x", "1.5", "1,", "٣", "1e3")),
        (options.THREADS, ("0", "all", "-2", "")),
        (options.DURATION, ("", "0", "0s", "-5m", "5 weeks", "m", "1m30", "inf", "nan", "٣s")),
        (options.PERCENT, ("", "1", "0%", "100%", "-1%", "x%", "nan%", "1%%")),
        (options.CPUS, ("", "a", "3-1", "0,", "-1", "1-")),
        (options.SHAPE, ("", "1x128", "=1", "a=", "a=0", "a=1x", "a=1x-2", "a=1,2")),
        (options.SETTING, ("", "ort", "ort.KEY", "=1", ".KEY=1", "ort.=1", "KEY=1")),
    ],
)
def test_anything_else_is_refused_with_an_example(kind: Any, texts: tuple[str, ...]):
    for text in texts:
        with pytest.raises(click.BadParameter) as caught:
            kind.convert(text, None, None)
        example = "for example 90s or 5m" if kind is options.DURATION else f"write it like {kind.name}"
        assert example in caught.value.message
        assert "invalid literal" not in caught.value.message
