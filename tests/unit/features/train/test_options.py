"""What the help of ``irbench train`` says of its options."""

from __future__ import annotations

from typing import Any, get_args

import pytest

from irbench.features.train.options import TRAIN, GpuThreadMode
from irbench.spec import Timing
from irbench.spec.training import TrainingPrecision


@pytest.mark.parametrize(("name", "literal"), [("precision", TrainingPrecision), ("gpu_thread_mode", GpuThreadMode)])
def test_the_help_names_every_value(name: str, literal: Any) -> None:
    assert all(value in TRAIN.options[name].help for value in get_args(literal))


def test_a_row_is_launched_as_often_as_an_interval_takes_and_the_help_says_so() -> None:
    launches = TRAIN.options["launches"]
    assert launches.default == Timing.min_launches
    assert f"an interval takes {Timing.min_launches}" in launches.help
