"""What a stored run of training steps says of how it goes on."""

from __future__ import annotations

import json
from dataclasses import asdict, replace
from typing import Any, cast

import pytest
from documents import document
from training_steps import FALLING, cell, table

from irbench.core.record import Failure
from irbench.core.result import RunDocument
from irbench.core.stored_plan import StoredPlan
from irbench.errors import IrbenchError
from irbench.features.train.begun_run import BegunRun, begun_run
from irbench.features.train.options import TrainOptions
from irbench.runs.run_destination import RunDestination

NOT_FALLING = Failure("accuracy", "the loss does not fall")
ASKED = TrainOptions(
    batch=(8, 16), xla=("off", "on"), prefetch=("0", "auto"), learning_rate=0.5, data="samples.py:make"
)


def stored(asked: object) -> RunDocument:
    """Return a run with a row that trains and one that does not."""
    group = table([(cell(8), (1.0, 2.0)), (cell(16), (1.0, 2.0))])
    trains, failed = group.cells
    rows = (trains, replace(failed, loss=None, failure=NOT_FALLING, state="failed"))
    plan = StoredPlan(sources=("/models/net.py:make",), training=cast("Any", asked))
    return document(replace(group, cells=rows), plan=plan)


def begun(asked: object) -> BegunRun | None:
    return begun_run(stored(asked), RunDestination())


def test_what_was_asked_for_and_what_checks_gave_is_read_again() -> None:
    found = begun(json.loads(json.dumps(asdict(ASKED))))
    assert found is not None
    assert found.options == ASKED
    assert sorted(map(str, found.outcomes.values())) == sorted(map(str, (FALLING, NOT_FALLING)))
    assert found.plan.models == ("/models/net.py:make",)


def test_a_run_of_anything_else_is_none_of_training() -> None:
    assert begun(None) is None


def test_a_function_that_makes_samples_is_own_code_and_a_folder_is_none() -> None:
    assert cast("BegunRun", begun(asdict(ASKED))).own_code == ("samples.py:make",)
    assert cast("BegunRun", begun(asdict(replace(ASKED, data="photos/")))).own_code == ()


@pytest.mark.parametrize(
    "damage", [{"batch": 8}, {"batch": [0]}, {"xla": ["maybe"]}, {"learning_rate": -1.0}, {"speed": 1}]
)
def test_what_irbench_never_writes_is_refused_in_a_line(damage: dict[str, Any]) -> None:
    with pytest.raises(IrbenchError, match="which training") as caught:
        begun({**asdict(ASKED), **damage})
    assert "irbench train" in (caught.value.hint or "")


@pytest.mark.parametrize("asked", [["batch"], 7, "batch"])
def test_a_plan_of_another_form_is_refused_in_a_line(asked: object) -> None:
    with pytest.raises(IrbenchError, match="which training"):
        begun(asked)
