"""Options are stored as they were asked, and ask for the same again."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from types import NoneType, UnionType
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

import msgspec
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from stored_plans import stored_plan

from irbench.core.address import BackendAddress
from irbench.core.stored_plan import StoredPlan
from irbench.exporter.identity import options_of as exported_options
from irbench.exporter.identity import stored_options as card_options
from irbench.features.export.options import EXPORT
from irbench.features.run.command import command as run_command
from irbench.options.export import ExportOptions
from irbench.options.kinds import Kind
from irbench.options.option import command_words
from irbench.options.own_code import Metric
from irbench.options.run import RUN, RunOptions
from irbench.options.stored import options_of
from irbench.options.values import alternatives
from irbench.runner.request import RunRequest

TYPES = get_type_hints(RunOptions, localns={"DataSource": Path})
EXPORT_TYPES = get_type_hints(ExportOptions)
NOT_STORED = {"all", "no_lock", "results"}
SIMPLE: dict[Any, st.SearchStrategy[Any]] = {
    str: st.text("ab1.", min_size=1),
    bool: st.booleans(),
    int: st.integers(1, 999),
    float: st.floats(0.02, 0.98),
    NoneType: st.none(),
    Path: st.text("ab./", min_size=1).map(Path),
    Metric: st.builds(Metric, st.just("package.module:function"), limit=st.floats(0.02, 0.98)),
}


def values_of(kind: Any) -> st.SearchStrategy[Any]:
    """Return a strategy for the values of a type that an option holds."""
    origin, parts = get_origin(kind), get_args(kind)
    if origin in (Union, UnionType):
        return st.one_of(*map(values_of, parts))
    if origin is Literal:
        return st.sampled_from(parts)
    if origin is tuple and parts[-1] is ...:
        return st.lists(values_of(parts[0]), min_size=1, max_size=3).map(tuple)
    if origin is tuple:
        return st.tuples(*map(values_of, parts))
    if origin is Mapping:
        return st.dictionaries(*map(values_of, parts), min_size=1, max_size=3)
    if kind not in SIMPLE and dataclasses.is_dataclass(kind):
        fields = {name: values_of(of) for name, of in get_type_hints(kind).items()}
        return st.fixed_dictionaries(fields).map(lambda values: kind(**values))  # type: ignore[operator]
    return SIMPLE[kind]


def stored(asked: RunOptions) -> StoredPlan:
    """Return the plan of a run that asks for this, as its document holds it."""
    request = RunRequest(
        bundles=(),
        backends=tuple(map(BackendAddress.parse, () if asked.backends in (None, ("none",)) else asked.backends)),
        asked=asked,
        precisions=asked.precision,
        variants=asked.optimize,
        threads=tuple(None if count == "native" else count for count in asked.threads or ()),
        alternatives=alternatives(asked.vary),
    )
    chosen = [name for name in ("backends", "threads") if getattr(asked, name) is None]  # for want of an option
    return replace(request.as_plan(), **dict.fromkeys(chosen, ()))


def is_readable(kind: Kind, value: Any) -> bool:
    """Return whether a value is one that somebody could have given."""
    try:
        return bool(kind.read(kind.written(value)) == value)
    except (TypeError, ValueError):
        return False


@pytest.mark.parametrize("name", sorted(RUN.options.keys() - NOT_STORED))
@settings(suppress_health_check=[HealthCheck.filter_too_much, HealthCheck.too_slow])
@given(data=st.data())
def test_every_option_that_is_stored_is_read_as_it_was(name: str, data: st.DataObject):
    value = data.draw(values_of(TYPES[name]))
    assume(value is None or is_readable(RUN.options[name].kind, value))
    asked = RunOptions(**{name: value})
    found = options_of(stored(asked))
    assert (found if asked.backends else replace(found, backends=None)) == asked  # what is there is resolved


@pytest.mark.parametrize("name", sorted(RUN.options))
@settings(suppress_health_check=[HealthCheck.filter_too_much, HealthCheck.too_slow])
@given(data=st.data())
def test_every_option_is_written_as_the_command_line_reads_it(name: str, data: st.DataObject):
    declared = RUN.options[name]
    value = data.draw(values_of(TYPES[name]))
    assume(value is not None and is_readable(declared.kind, value))
    assume(name not in ("set", "vary") or not any("." in backend for backend in value))
    words = list(command_words({name: value}, {name: declared}))
    read = run_command.make_context("run", words).params[name]
    assert read == (pytest.approx(value) if isinstance(value, float) else value)


@pytest.mark.parametrize("name", sorted(EXPORT.own_options.keys() - {"force", "output", "deadline", "weights"}))
@given(data=st.data())
def test_every_option_of_an_export_comes_back_from_its_card(name: str, data: st.DataObject):
    asked = ExportOptions(**{name: data.draw(values_of(EXPORT_TYPES[name]))})
    assert exported_options(msgspec.json.decode(msgspec.json.encode(card_options(asked, Path("/"))))) == asked


WRITTEN: dict[str, Any] = {
    "batch": [1, 8], "threads": [2, "native"], "cpus": "0-3", "budget": 60.5, "warmup": "500", "io": "bound",
    "metric": "irbench.core.output_check:tolerance<=0.1", "feedback": {"h": "h0"}, "shapes": "length=128,64",
    "shape": {"tokens": "1x128"}, "value": {"sr": [16000]}, "set": {"ort": {"a.b": "1"}}, "imports": ["layers"],
    "vary": {"ort": {"a.b": ["0", "default"]}}, "cells": {"mine": "./loop {model}"}, "data": "speech",
}  # fmt: skip


def test_what_a_plan_has_is_written_as_it_is_read(subtests: pytest.Subtests):
    for name, written in WRITTEN.items():
        with subtests.test(name=name):
            held = getattr(RUN.from_keywords({name: written}), name)
            assert RUN.options[name].kind.written(held) == written


@pytest.mark.parametrize(
    "stored",
    [
        {"asked": {"colour": "red"}}, {"asked": {"io": "copy"}}, {"batches": "8"}, {"batches": ["8"]}, {"io": "pipe"},
        {"data": 5}, {"cells": {"a": {}}}, {"batches": [-5]}, {"streams": []}, {"variants": []}, {"rows": []},
        {"cpus": []}, {"seed": 10**12}, {"asked": {"budget": -1.0}}, {"asked": {"warmup": {}}},
        {"asked": {"pace": 1e-12}}, {"cells": {"../x": {"kind": "command", "target": "ls"}}},
    ],
)  # fmt: skip
def test_what_irbench_would_not_write_is_refused(stored: dict[str, Any]):
    with pytest.raises(ValueError, match=r"Expected|not a|no option|Invalid|missing|empty|neither|no name"):
        options_of(stored_plan(**{"asked": {}, **stored}))
