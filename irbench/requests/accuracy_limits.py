"""How good outputs must be for a row to be measured."""

from __future__ import annotations

from irbench.errors import IrbenchError
from irbench.options.own_code import Metric, metric_text
from irbench.options.run import RunOptions
from irbench.requests.own_cells import require_function
from irbench.spec import AccuracyLimit, Program


def accuracy_limit(options: RunOptions) -> AccuracyLimit | None:
    """Return how good answers must be; ``None`` where nothing was asked for.

    Raises:
        IrbenchError: There are two limits, none, or one that no share of samples can have.
    """
    own, least = options.metric, options.min_accuracy
    if own is None:
        return None if least is None else AccuracyLimit(_share(least))
    if (own.limit is None) == (least is None):
        raise IrbenchError(
            f"--metric {own.function} has {'two limits' if least is not None else 'no limit'}.",
            hint=f"Write the limit once, in quotes: --metric '{own.function}>=0.9'.",
        )
    require_function(own.function)
    limit = own.limit if least is None else least
    assert limit is not None
    return AccuracyLimit(limit, own.bound, own.function)


def options_of_limit(limit: AccuracyLimit | None) -> dict[str, str]:
    """Return the options of the command line that ask for a limit."""
    if limit is None:
        return {}
    if not limit.function:
        return {"--min-accuracy": repr(limit.limit)}
    return {"--metric": metric_text(Metric(limit.function, limit.bound, limit.limit))}


def programs_of_limit(limit: AccuracyLimit | None) -> tuple[Program, ...]:
    """Return the user's own code that measures accuracy, if any does."""
    return () if limit is None or not limit.function else (Program("callable", limit.function),)


def _share(value: float) -> float:
    if not 0 < value <= 1:
        raise IrbenchError(
            f"--min-accuracy {value:g} is no share of samples.", hint="Write it as 99% or 0.99; 100% is the most."
        )
    return value
