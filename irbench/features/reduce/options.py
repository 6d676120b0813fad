"""The options of ``irbench reduce``."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from irbench.errors import IrbenchError
from irbench.features.reduce.expectation import Expectation, Failing, WrongAnswers, parse_expectation
from irbench.options import kinds
from irbench.options.option import CommandOptions, option
from irbench.options.run import INPUTS, RunOptions
from irbench.options.values import text

REDUCE_BUDGET_S = 600.0
MIN_SHARE = 0.01

_EXPECTATION = kinds.Kind(
    '"ort slower than openvino by 1.5x"',
    "str",
    lambda value: parse_expectation(text(value)),
    "'ort slower than openvino by 1.5x'",
)


@dataclass(frozen=True)
class ReduceOptions:
    """Which difference is kept, and how it is searched.

    Attributes:
        model: As the user named it.
        run: The inputs, and how the graph is measured.
    """

    model: str
    run: RunOptions = field(default_factory=RunOptions)
    expect: Expectation | None = option(
        _EXPECTATION, "The difference to keep; also 'openvino wrong' and 'ort fails'. Without a number it is 1.2x."
    )
    expect_wrong: str | None = option(kinds.BACKEND, "The backend whose outputs are wrong.")
    expect_failure: str | None = option(kinds.BACKEND, "The backend that refuses the graph, or crashes.")
    output: Path | None = option(
        kinds.PATH,
        "Folder for reduced.onnx, inputs.npz, expected.npz and report.md.",
        default_text="MODEL-reduced",
        short="-o",
        metavar="DIR",
    )
    budget: float = option(
        kinds.DURATION, "Time limit for the whole search.", default=REDUCE_BUDGET_S, default_text="10m"
    )
    min_share: float = option(
        kinds.SHARE,
        "Least share of the slower backend's total loss that a part must show.",
        default=MIN_SHARE,
        default_text="1%",
    )

    @property
    def expectation(self) -> Expectation:
        """The difference to keep."""
        expectations = [
            *([self.expect] if self.expect is not None else []),
            *([WrongAnswers(self.expect_wrong)] if self.expect_wrong is not None else []),
            *([Failing(self.expect_failure)] if self.expect_failure is not None else []),
        ]
        if len(expectations) == 1:
            return expectations[0]
        problem = "Several differences are expected." if expectations else "No difference is expected."
        hint = "Give one: --expect 'ort slower than openvino by 1.5x', --expect-wrong openvino or --expect-failure ort."
        raise IrbenchError(problem, hint=hint)


REDUCE = CommandOptions(
    "reduce",
    ReduceOptions,
    RunOptions,
    sections={
        "Difference to keep": ("expect", "expect_wrong", "expect_failure", "min_share"),
        "Models and inputs": (*INPUTS, "seed"),
        "Configuration": ("precision", "threads", "cpus", "set", "io"),
        "Duration": ("budget", "deadline"),
        "Output": ("output", "no_lock", "results"),
    },
    single=("batch", "precision", "threads"),
    changes={
        "batch": {"help": "Batch size."},
        "data": {"help": "Sample that the inputs come from: a .npz, .npy or image file, or a data set."},
    },
)  # fmt: skip
