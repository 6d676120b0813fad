"""How good answers are: top-1 agreement, and what a function of the user's own is given and may return."""

from __future__ import annotations

import re
import sys
from dataclasses import replace
from pathlib import Path

import models
import numpy as np
import pytest
from fake_answers import Answers

from irbench.core.feeds import generate, write_sample
from irbench.errors import IrbenchError
from irbench.spec import AccuracyLimit, Bundle, Cell, Feeding, InputSpec, Load, Workload
from irbench.worker.answer_accuracy import AccuracyTask, measure_accuracy

SAMPLES = 5
METRICS = """
import numpy as np
calls = []

def agreement(inputs, outputs, expected):
    calls.append((inputs, outputs, expected))
    return np.float32(np.mean([o["scores"].argmax() == e["scores"].argmax() for o, e in zip(outputs, expected)]))

def pixels(inputs, outputs):
    return inputs[0]["pixels"].size

def count(inputs, outputs, scale=1):
    return scale * len(outputs)

def fails(inputs, outputs):
    raise KeyError("labels")

def leaves(inputs, outputs):
    raise SystemExit("bye")

def says_good(inputs, outputs):
    return "good"

def is_nan(inputs, outputs):
    return float("nan")

def alone(outputs):
    return 1.0

def right(inputs, outputs, labels):
    return np.mean([o["scores"].argmax() == label for o, label in zip(outputs, labels, strict=True)])

def right_by_name(inputs, outputs, *, labels):
    return right(inputs, outputs, labels)

def right_in_between(inputs, outputs, labels, expected):
    return right(inputs, outputs, labels) + right(inputs, expected, labels)

def right_if_known(inputs, outputs, labels=None):
    return -1.0 if labels is None else right(inputs, outputs, labels)
"""


@pytest.fixture
def metrics(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.setattr(sys, "modules", dict(sys.modules))
    file = tmp_path / "metrics.py"
    file.write_text(METRICS)
    return file


def task(folder: Path, batch: int = 1, calls: int = SAMPLES) -> AccuracyTask:
    """Return a row that answers as the reference does, on generated samples."""
    artifact = models.mlp(folder)
    specs = tuple(InputSpec(spec) for spec in artifact.inputs)
    paths = tuple(folder / f"{number}.npz" for number in range(calls))
    for number, path in enumerate(paths):
        arrays = generate(specs, {"batch": batch}, number)
        write_sample(path, specs, {spec.tensor.name: array for spec, array in zip(specs, arrays, strict=True)})
    workload = Workload(Bundle("mlp", specs, (artifact,)), {"batch": batch}, Feeding(samples=paths))
    cell = Cell("fake", artifact, "fake-a", "cpu", Load(batch=batch))
    answers = Answers(artifact.path, ["pixels"])
    expected = tuple(answers(generate(specs, {"batch": batch}, number)) for number in range(calls))
    return AccuracyTask(cell, workload, expected, 1.0, AccuracyLimit(0.9))


def with_fault(asked: AccuracyTask, fault: str) -> AccuracyTask:
    return replace(asked, cell=replace(asked.cell, load=replace(asked.cell.load, options={"fault": fault})))


def by(function: str, metrics: Path, asked: AccuracyTask) -> AccuracyTask:
    return replace(asked, limit=AccuracyLimit(0.5, function=f"{metrics}:{function}"))


def test_equal_answers_agree_in_every_sample(tmp_path: Path) -> None:
    found = measure_accuracy(task(tmp_path))
    assert (found.value, found.samples, found.max_rel, found.misses_tolerance) == (1.0, SAMPLES, 0.0, False)


def test_answers_may_miss_the_tolerance_and_agree(tmp_path: Path) -> None:
    found = measure_accuracy(with_fault(task(tmp_path), "wrong"))
    assert found.value == 1.0
    assert found.max_rel == pytest.approx(0.5, rel=1e-3)
    assert found.misses_tolerance


def test_agreement_is_the_share_of_samples_with_the_same_largest_class(tmp_path: Path) -> None:
    asked = task(tmp_path, batch=2)
    assert asked.expected is not None
    chosen = np.concatenate([np.argmax(scores, axis=-1) for (scores,) in asked.expected])
    found = measure_accuracy(with_fault(asked, "mirrored"))
    assert found.value == np.mean(chosen == 4 - chosen)  # of five classes, the middle one stays
    assert found.value < 1
    assert found.samples == 2 * SAMPLES


def test_a_function_is_given_every_sample_by_name(tmp_path: Path, metrics: Path) -> None:
    found = measure_accuracy(by("agreement", metrics, task(tmp_path)))
    assert found.value == 1.0
    (((inputs, outputs, expected),)) = sys.modules["metrics"].calls
    assert [sample["pixels"].shape for sample in inputs] == [(1, 3, 8, 8)] * SAMPLES
    assert [sample["scores"].shape for sample in outputs] == [(1, 5)] * SAMPLES
    assert len(expected) == SAMPLES


def test_a_function_may_do_without_the_reference(tmp_path: Path, metrics: Path) -> None:
    asked = replace(task(tmp_path), expected=None)
    found = measure_accuracy(by("pixels", metrics, asked))
    assert (found.value, found.max_rel) == (3 * 8 * 8, None)


def test_rows_of_data_are_samples_again_and_none_counts_twice(tmp_path: Path, metrics: Path) -> None:
    asked = task(tmp_path, batch=4, calls=2)
    feeding = replace(asked.workload.feeding, rows=7, rows_per_call=4)
    asked = replace(asked, workload=replace(asked.workload, feeding=feeding))
    assert measure_accuracy(asked).samples == 7
    assert measure_accuracy(by("agreement", metrics, asked)).value == 1.0
    (((inputs, outputs, _),)) = sys.modules["metrics"].calls
    assert [sample["pixels"].shape for sample in inputs] == [(1, 3, 8, 8)] * 7
    assert [sample["scores"].shape for sample in outputs] == [(1, 5)] * 7


def test_another_third_argument_with_a_default_is_the_function_s_own(tmp_path: Path, metrics: Path) -> None:
    assert measure_accuracy(by("count", metrics, task(tmp_path))).value == SAMPLES


@pytest.mark.parametrize(
    ("function", "message"),
    [
        ("fails", "fails raised KeyError: 'labels'"),
        ("leaves", "leaves raised SystemExit"),
        ("says_good", "returned str, which is not a number"),
        ("is_nan", "returned nan, which is not a number"),
        ("alone", "takes other arguments"),
        ("gone", "has no function gone"),
    ],
)
def test_a_function_that_gives_no_number_is_a_reason_with_a_way_out(
    tmp_path: Path, metrics: Path, function: str, message: str
) -> None:
    with pytest.raises(IrbenchError, match=message) as caught:
        measure_accuracy(by(function, metrics, task(tmp_path)))
    assert caught.value.hint


def test_a_name_that_no_sample_has_is_answered_with_those_that_there_are(tmp_path: Path, metrics: Path) -> None:
    with pytest.raises(IrbenchError) as caught:
        measure_accuracy(by("fails", metrics, task(tmp_path)))
    assert {"pixels", "scores"} <= set(re.findall(r"\w+", caught.value.hint or ""))


def test_a_function_that_needs_the_reference_says_so_where_there_is_none(tmp_path: Path, metrics: Path) -> None:
    with pytest.raises(IrbenchError, match="no reference could answer"):
        measure_accuracy(by("agreement", metrics, replace(task(tmp_path), expected=None)))


def test_a_function_with_labels_is_given_the_class_of_each_sample(tmp_path: Path, metrics: Path) -> None:
    asked = task(tmp_path)
    assert asked.expected is not None
    chosen = tuple(int(np.argmax(scores)) for (scores,) in asked.expected)
    workload = asked.workload
    labelled = replace(workload, feeding=replace(workload.feeding, labels=(*chosen[:-1], chosen[-1] + 1)))
    share = 1 - 1 / SAMPLES
    for function, value in {
        "right": share,
        "right_by_name": share,
        "right_if_known": share,
        "right_in_between": 2 * share,
    }.items():
        assert measure_accuracy(by(function, metrics, replace(asked, workload=labelled))).value == pytest.approx(value)


def test_a_function_with_labels_needs_data_that_have_them(tmp_path: Path, metrics: Path) -> None:
    assert measure_accuracy(by("right_if_known", metrics, task(tmp_path))).value == -1
    with pytest.raises(IrbenchError, match="takes labels, and the data have none"):
        measure_accuracy(by("right", metrics, task(tmp_path)))
