"""What the help of ``irbench train`` says of its options."""

from __future__ import annotations

from typing import Any, get_args

import pytest

from irbench.errors import IrbenchError
from irbench.features.train.options import TRAIN, GpuThreadMode, TrainOptions
from irbench.features.train.run import training_request
from irbench.options.run import RunOptions
from irbench.spec import Timing
from irbench.spec.training import TrainingPrecision


@pytest.mark.parametrize(("name", "literal"), [("precision", TrainingPrecision), ("gpu_thread_mode", GpuThreadMode)])
def test_the_help_names_every_value(name: str, literal: Any) -> None:
    assert all(value in TRAIN.options[name].help for value in get_args(literal))


def test_a_row_is_launched_as_often_as_an_interval_takes_and_the_help_says_so() -> None:
    launches = TRAIN.options["launches"]
    assert launches.default == Timing.min_launches
    assert f"an interval takes {Timing.min_launches}" in launches.help


def test_processor_time_is_refused_as_the_objective_of_a_training_on_a_gpu() -> None:
    with pytest.raises(IrbenchError, match="tf:gpu computes on a GPU") as refused:
        training_request("alexnet", TrainOptions(device="gpu", objective="cost"), RunOptions())
    assert "--objective" in refused.value.hint
