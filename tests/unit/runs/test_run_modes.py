"""Modes of a run: what features declare is there, and what a document can hold is shown."""

from dataclasses import fields
from importlib import import_module
from operator import attrgetter
from typing import get_args

import pytest

from irbench import features
from irbench.core.result import RunDocument
from irbench.runner.request import RunRequest
from irbench.runs.run_modes import RunMode, TableField

MODES = dict(features.declared("RUN_MODE"))


@pytest.mark.parametrize(("package", "mode"), MODES.items(), ids=lambda value: str(value).rpartition(".")[2])
def test_a_mode_names_what_exists(package: str, mode: RunMode):
    assert not attrgetter(mode.asked_by)(RunRequest((), ()))
    assert mode.tables in {field.name for field in fields(RunDocument)}
    for name in (mode.measure, mode.views):
        module, _, function = name.partition(".")
        assert callable(getattr(import_module(f"{package}.{module}"), function))


def test_each_field_of_a_document_has_one_mode():
    tables = [mode.tables for mode in MODES.values()]
    assert sorted(tables) == sorted(get_args(TableField))
