"""No graph, however strange, may come out of the optimiser broken or with other answers."""

from __future__ import annotations

import random

import pytest
from graph_fuzz.building import Unbuildable
from graph_fuzz.cases import build_pattern, cases
from graph_fuzz.choices import Choices
from graph_fuzz.fuzzing import fuzz
from graph_fuzz.judging import Judge, Unusable
from graph_fuzz.mutants import Ground, mutants
from graph_fuzz.patterns import PATTERNS, Pattern
from graph_fuzz.routes import LEVELS, Route, travel

from irbench import registry

_SEED = 0


def test_equal_seeds_make_equal_graphs_and_others_do_not() -> None:
    first = [case.content for case in cases(30, _SEED)]
    assert first == [case.content for case in cases(30, _SEED)]
    assert first != [case.content for case in cases(30, _SEED + 1)]
