"""What a conversion changes in a trained model's answers to real inputs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from benchmarks.real.subjects import Subject
from irbench.spi import Array
from irbench.stats.intervals import Interval, Looks, interval_at

_CONFIDENCE = 0.95

Answers = Sequence[Sequence[Array]]


@dataclass(frozen=True)
class Accuracy:
    """How the answers of a converted graph compare with those of the graph before.

    Attributes:
        error: Of the outputs, relative to their size: the median over samples with its interval.
        decisions_kept: Share of the decisions that stay the same, likewise.
        samples: How many there were.
    """

    error: Interval
    decisions_kept: Interval
    samples: int


def answers(subject: Subject, file: Path, samples: int) -> list[list[Array]]:
    """Return the outputs of an ONNX file for each sample, by ONNX Runtime without optimisations.

    Raises:
        Exception: Whatever ONNX Runtime raises where it cannot load or run the file.
    """
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.log_severity_level = 3
    session = onnxruntime.InferenceSession(str(file), options, providers=["CPUExecutionProvider"])
    names = [given.name for given in session.get_inputs()]
    return [
        [np.asarray(output) for output in session.run(None, dict(zip(names, subject.sample(number), strict=True)))]
        for number in range(samples)
    ]


def accuracy(subject: Subject, before: Answers, after: Answers) -> Accuracy:
    """Compare the answers of two graphs to the same samples."""
    looks = Looks(len(before), len(before))
    errors = [relative_error(own, other) for own, other in zip(before, after, strict=True)]
    kept = [_agreeing(subject, own, other) for own, other in zip(before, after, strict=True)]
    return Accuracy(interval_at(errors, looks, _CONFIDENCE), interval_at(kept, looks, _CONFIDENCE), samples=len(before))


def relative_error(before: Sequence[Array], after: Sequence[Array]) -> float:
    """Return the worst output's root mean square of the difference, over that of the output before."""
    return max(_errors(before, after), default=0.0)


def _errors(before: Sequence[Array], after: Sequence[Array]) -> Iterator[float]:
    for own, other in zip(before, after, strict=True):
        size = float(np.sqrt(np.mean(np.square(own, dtype=np.float64))))
        difference = float(np.sqrt(np.mean(np.square(own.astype(np.float64) - other))))
        yield difference / size if size else float(difference > 0)


def _agreeing(subject: Subject, before: Sequence[Array], after: Sequence[Array]) -> float:
    return float(np.mean(subject.decide(before) == subject.decide(after)))
