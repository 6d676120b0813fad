"""Every function of the public API reads its keywords before it does anything."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import pytest
from combinations import each_once

import irbench
from irbench.errors import IrbenchError

MODEL = "not-looked-for.onnx"
READ: dict[Callable[..., Any], tuple[Any, ...]] = {
    irbench.verify: (MODEL,),
    irbench.optimize: (MODEL,),
    irbench.doctor: (),
    irbench.export: ("resnet50",),
    irbench.soak: (MODEL,),
}


KEYWORDS = [
    (function, parameter.name)
    for function in READ
    for parameter in inspect.signature(function).parameters.values()
    if parameter.kind is parameter.KEYWORD_ONLY
]


def test_no_keyword_is_taken_as_it_comes(subtests: pytest.Subtests):
    for function, keyword in KEYWORDS:
        with subtests.test(function=function, keyword=keyword):
            with pytest.raises(IrbenchError, match=f"^{keyword}=.* is not valid") as caught:
                function(*READ[function], **{keyword: object()})
            assert caught.value.hint


@pytest.mark.parametrize(
    ("function", "keyword", "value"),
    [
        (irbench.verify, "suite", "ONNX"),
        (irbench.optimize, "quantize", "x"),
        (irbench.optimize, "layout", "nhwc"),
        (irbench.optimize, "precision", "fp8"),
        (irbench.optimize, "passes", []),
        (irbench.verify, "backends", []),
        (irbench.export, "shape", 64),
        (irbench.export, "shape", {"tokens": "1xmany"}),
    ],
)
def test_a_word_that_means_nothing_is_refused(function: Callable[..., Any], keyword: str, value: object):
    with pytest.raises(IrbenchError, match=f"^{keyword}="):
        function(MODEL, **{keyword: value})


@pytest.mark.parametrize("level", ["", "basics"])
def test_an_unknown_level_is_refused(level: str):
    with pytest.raises(IrbenchError, match=f"no level '{level}'"):
        irbench.optimize(MODEL, level=level)


@pytest.mark.parametrize(
    ("call", "progress"),
    each_once(
        [
            irbench.run,
            irbench.plan,
            irbench.soak,
            irbench.doctor,
            irbench.backends,
            lambda **given: irbench.export("resnet50", **given),
        ],
        ["Auto", "", True, 5],
    ),
)
def test_progress_is_checked_before_anything_is_done(call: Callable[..., Any], progress: object):
    with pytest.raises(IrbenchError, match=f"^progress={progress!r} is not valid") as caught:
        call(progress=progress)
    assert caught.value.hint == 'Write "auto", None or a function.'
    assert irbench.results() == ()


def test_what_the_doctor_is_asked_for_needs_a_measurement():
    with pytest.raises(IrbenchError, match="belong to aa"):
        irbench.doctor(no_lock=True)
    with pytest.raises(IrbenchError, match="belong to aa"):
        irbench.doctor(None, budget="5s")  # type: ignore[arg-type]
