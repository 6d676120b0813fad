"""What generations show besides their length: the first token, the tokens after it, and how both depend on length."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping

import numpy as np
from numpy.typing import NDArray

from irbench.core.row import Generated, Spans
from irbench.spec import Cell, Scalar, Timing, Workload
from irbench.stats.figures import (
    Rounds,
    by_launch,
    calls_to_bound,
    frames_per_second,
    part_ns,
    span_over_launches,
    span_within,
)
from irbench.stats.intervals import percentile
from irbench.stats.run_modes.soak import FEWEST_VALUES, trend_of

_LEAST_GROWTH_BYTES = 4 << 20
"""Allocators take memory from the kernel in steps of up to a megabyte or two."""


def prompt_of(workload: Workload) -> int:
    """Return how many tokens the prompts of a generation have, which its first input holds; 0 without inputs."""
    inputs = workload.bundle.inputs
    size = inputs[0].tensor.bind(workload.sizes).shape[-1:] if inputs else ()
    return size[0] if size and isinstance(size[0], int) else 0


def _is_encoded(workload: Workload) -> bool:
    """Whether an encoder runs before the first token: the prompt of its decoder is called ``decoder_...``."""
    inputs = workload.bundle.inputs
    return len(inputs) > 1 and inputs[0].tensor.name.startswith("decoder_")


def generated(
    counted: Rounds,
    everything: Rounds,
    cell: Cell,
    workload: Workload,
    effective: Mapping[str, Scalar],
    timing: Timing,
) -> Generated | None:
    """Return what a row generated; ``None`` where its calls were single inferences.

    Args:
        counted: Its rounds that count, at least one.
        everything: Its rounds of all blocks.
        cell: The row.
        workload: What it ran.
        effective: What its session said of itself.
        timing: The protocol's numbers.
    """
    timed, said = _timed_tokens(counted), effective.get("new_tokens")
    new_tokens = timed or (said if isinstance(said, int) else 0)
    if not new_tokens:
        return None

    def spans(figure: Callable[[Rounds], float]) -> Spans:
        return span_over_launches(counted, everything, figure, timing)

    prompt, held = prompt_of(workload), effective.get("cache_bytes")
    first_ns, between_ns = _token_ns(counted)[:, :1], between_tokens_ns(counted)
    launches = by_launch(counted) if timed else ()
    lines = [line for rounds in launches if (line := _line(rounds, prompt)) is not None]
    grown = [bytes_of_position(rounds[0][0].token_memory_bytes) for rounds in by_launch(counted)]
    told = [each for each in grown if each is not None]
    return Generated(
        new_tokens=new_tokens,
        prompt=prompt,
        first_token_ms=spans(first_token_ms) if timed else None,
        token_ms=spans(token_ms) if timed > 1 else None,
        tokens_per_s=spans(lambda rounds: new_tokens * frames_per_second(rounds, cell.load.batch)),
        fixed_ms=span_within([fixed_ns / 1e6 for fixed_ns, _ in lines], timing, float, float) if lines else None,
        position_us=span_within([each_ns / 1e3 for _, each_ns in lines], timing, float, float) if lines else None,
        cache_bytes=held if isinstance(held, int) else None,
        position_bytes=span_within(told, timing, float, float) if len(told) == len(grown) else None,
        prompt_tokens_per_s=spans(lambda rounds: cell.load.batch * prompt / (first_token_ms(rounds) / 1e3))
        if timed and prompt and not _is_encoded(workload)
        else None,
        first_token_p90_ms=_bounded_ms(first_ns, 90),
        first_token_p99_ms=_bounded_ms(first_ns, 99),
        token_p90_ms=_bounded_ms(between_ns, 90),
        token_p99_ms=_bounded_ms(between_ns, 99),
    )


def _bounded_ms(times_ns: NDArray[np.int64], percent: float) -> float | None:
    """Return a percentile in milliseconds; ``None`` of too few times to bound it."""
    return percentile(times_ns, percent) / 1e6 if times_ns.size >= calls_to_bound(percent) else None


def first_token_ms(rounds: Rounds) -> float:
    """Return the median time from the begin of a call to its first token, in milliseconds; NaN where none is timed."""
    return float(np.median(_token_ns(rounds)[:, 0])) / 1e6 if _timed_tokens(rounds) else math.nan


def token_ms(rounds: Rounds) -> float:
    """Return the median time from one token to the next, in milliseconds; NaN where fewer than two are timed."""
    between_ns = between_tokens_ns(rounds)
    return float(np.median(between_ns)) / 1e6 if between_ns.size else math.nan


def _timed_tokens(rounds: Rounds) -> int:
    """Return of how many tokens each call tells when they were there; 0 of a function of the user's."""
    launch, first = rounds[0]
    return 0 if launch.stages else first.part_ns.size // (first.issue_ns.size * launch.calls_per_sample)


def _token_ns(rounds: Rounds) -> NDArray[np.int64]:
    """Return when tokens were there after the begin of their call, int64 of shape (calls, timed tokens)."""
    timed = _timed_tokens(rounds)
    return part_ns(rounds, timed) if timed else np.empty((0, 0), np.int64)


def between_tokens_ns(rounds: Rounds) -> NDArray[np.int64]:
    """Return the time from each token to the next, int64 of shape (calls, timed tokens - 1); empty without these."""
    return np.diff(_token_ns(rounds), axis=1)


def bytes_of_position(memory_bytes: NDArray[np.int64]) -> float | None:
    """Return what each token adds to the memory of a process on average; ``None`` of few tokens, or of little growth.

    Memory grows by large steps, so that the slope between most tokens is 0: the mean counts all of it. It begins at the
    second token, the first call of the size that all later ones have. Growth by less than a few of these steps tells
    nothing of a token.

    Args:
        memory_bytes: After each token of a text, int64.
    """
    tokens = memory_bytes.size - 2
    if tokens < FEWEST_VALUES:
        return None
    grown_bytes = int(memory_bytes[-1] - memory_bytes[1])
    return grown_bytes / tokens if grown_bytes >= _LEAST_GROWTH_BYTES else None


def _line(rounds: Rounds, prompt: int) -> tuple[float, float] | None:
    """Return the time of a token at length 0, and what each position adds, in nanoseconds; ``None`` of few tokens.

    The slope is the median of those of all pairs of tokens, which the slow first ones do not move:
    :func:`irbench.stats.run_modes.soak.trend_of`. The length is that of the cache when a token's call begins.
    """
    between_ns = np.median(between_tokens_ns(rounds), axis=0)
    trend = trend_of(between_ns.tolist())
    if trend is None:
        return None
    lengths = prompt + np.arange(between_ns.size)
    return float(np.median(between_ns - trend.slope * lengths)), trend.slope
