"""Values mean the same as text and as values of Python, and anything else is refused."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest

from irbench.api import values


@pytest.mark.parametrize(
    ("read", "forms", "meant"),
    [
        (
            values.names,
            ("ort,openvino:gpu", ["ort", "openvino:gpu"], ("ort", "openvino:gpu", "ort")),
            ("ort", "openvino:gpu"),
        ),
        (values.counts, ("1,8", [1, 8], (1, 8, 1)), (1, 8)),
        (values.counts, ("4", 4, [4]), (4,)),
        (values.threads, ("2", 2), 2),
        (values.threads, ("native",), "native"),
        (values.duration_s, ("90s", "1.5m", 90, 90.0, timedelta(seconds=90)), 90.0),
        (values.fraction, ("1%", 0.01), 0.01),
        (values.cpus, ("0-1,4", [4, 0, 1], {0, 1, 4}), (0, 1, 4)),
        (values.shapes, ({"tokens": "1x128"}, {"tokens": (1, 128)}, {"tokens": [1, 128]}), {"tokens": (1, 128)}),
        (values.settings, ({"ort": {"a": 1}}, {"ort": {"a": "1"}}, {"ort": {"a": True}}), {"ort": {"a": "1"}}),
    ],
)
def test_every_form_of_a_value_means_the_same(read: Callable[[Any], Any], forms: tuple[Any, ...], meant: Any):
    assert [read(form) for form in forms] == [meant] * len(forms)


@pytest.mark.parametrize(
    ("read", "wrong"),
    [
        (values.names, [1]),
        (values.names, ["ort", ""]),
        (values.counts, 0),
        (values.counts, [1, True]),
        (values.counts, 1.5),
        (values.duration_s, 0),
        (values.duration_s, float("inf")),
        (values.duration_s, timedelta(0)),
        (values.fraction, 1),
        (values.cpus, []),
        (values.cpus, [-1]),
        (values.shapes, "tokens=1x128"),
        (values.shapes, {"tokens": (0,)}),
        (values.settings, {"ort": "a=1"}),
    ],
)
def test_any_other_value_is_refused(read: Callable[[Any], Any], wrong: Any):
    with pytest.raises((TypeError, ValueError)):
        read(wrong)
