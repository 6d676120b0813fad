"""The options of ``irbench tune-training``: those of ``irbench train`` whose values are tried."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from irbench.features.train.options import FEWEST_CHECKED, TOLD_DIFFERENTLY, TrainingOptions
from irbench.options import kinds
from irbench.options.option import CommandOptions, field_of, option, options_of
from irbench.options.run import RunOptions
from irbench.spec.training import Switch

SEARCH_BUDGET_S = 600.0


def _tried(name: str, *values: Any) -> Any:
    """Return a field that declares an option of ``irbench train`` with values that are worth trying."""
    return field_of(replace(options_of(TrainingOptions)[name], default=values, default_text=""))


@dataclass(frozen=True, kw_only=True)
class TuneTrainingOptions(TrainingOptions):
    """What is searched; a batch and a precision change what is learnt, so others are tried only where given."""

    xla: tuple[Switch, ...] = _tried("xla", "off", "on")
    prefetch: tuple[str, ...] = _tried("prefetch", "auto", "1", "0")
    workers: tuple[str, ...] = _tried("workers", "auto", "1")
    budget: float = option(
        kinds.DURATION, "Time limit for searching and confirming.", default=SEARCH_BUDGET_S, default_text="10m"
    )


_SETTINGS, _HOW_IT_RUNS = "Settings to try; the first of each are the default", "How it runs"
TUNE_TRAINING = CommandOptions(
    "tune_training",
    TuneTrainingOptions,
    RunOptions,
    sections={
        "What is the best": ("objective", "budget"),
        _SETTINGS: ("batch", "precision", "xla", "prefetch", "cache", "workers", "gpu_thread_mode", "threads"),
        "Model and data": ("imports", "data", "samples", "image_format", "loss", "optimizer", "learning_rate", "seed"),
        _HOW_IT_RUNS: (
            "device",
            "cpus",
            "check_steps",
            "check_metric",
            "loss_distance",
            "within",
            "deadline",
            "no_lock",
        ),
        "Output": ("name", "note", "results"),
    },
    changes={
        **TOLD_DIFFERENTLY,
        "check_steps": {
            "help": f"Steps in which the loss must fall before a setting is confirmed, at least {FEWEST_CHECKED}."
        },
    },
)
