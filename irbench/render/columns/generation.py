"""Columns of generations: the first token, the tokens after it, and the caches."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from irbench.core.quantities import plural, significant
from irbench.core.result import GroupResult
from irbench.core.row import CellResult, Generated, Spans
from irbench.notices import Context
from irbench.render.columns.declaration import COUNT, NUMBER, Column, Legend, OverLaunches, RowPart, ShownSpeed

_generation = RowPart[CellResult, Generated](lambda cell: cell.generation)
_WHEN = "with `--generate`"


def generates(result: GroupResult) -> bool:
    """Whether the calls of a table are generations."""
    return any(cell.generation is not None for cell in result.cells)


def _times_tokens(result: GroupResult) -> bool:
    return any(cell.generation is not None and cell.generation.first_token_ms is not None for cell in result.cells)


def _fits(result: GroupResult) -> bool:
    return any(cell.generation is not None and cell.generation.position_us is not None for cell in result.cells)


def _knows_caches(result: GroupResult) -> bool:
    return any(cell.generation is not None and cell.generation.cache_bytes is not None for cell in result.cells)


def _knows_memory(result: GroupResult) -> bool:
    return any(cell.generation is not None and cell.generation.position_bytes is not None for cell in result.cells)


def _legend(result: GroupResult, _context: Context) -> Iterator[str]:
    for new_tokens in sorted({cell.generation.new_tokens for cell in result.cells if cell.generation is not None}):
        yield f"{plural(new_tokens, 'token')} generated in each call, which p50 is the time of"


def _times_legend(result: GroupResult, _context: Context) -> Iterator[str]:
    if _times_tokens(result):
        yield "first token: reading the prompt; token: from one to the next"


def _fit_legend(result: GroupResult, _context: Context) -> Iterator[str]:
    if _fits(result):
        yield "us/position: what each position in the cache adds to the time of a token"


def _value(figure: Callable[[Generated], Spans | None]) -> Callable[[CellResult], float | None]:
    """Return what reads a figure of generations from a row that may lack it."""
    spans = _generation(figure)

    def value(cell: CellResult) -> float | None:
        known = spans(cell)
        return None if known is None else known.value

    return value


def _spread(cell: CellResult) -> float | None:
    return cell.launch_spread


_FIRST = OverLaunches("first_token", "_ms", _generation(lambda of: of.first_token_ms),
    "Median over launches of the time to the first token.", "The same with disturbed blocks included.")  # fmt: skip
_TOKEN = OverLaunches("token", "_ms", _generation(lambda of: of.token_ms),
    "Median over launches of the time from one token to the next.",
    "The same with disturbed blocks included.")  # fmt: skip
_RATE = OverLaunches("tokens_per_s", "", _generation(lambda of: of.tokens_per_s),
    "Median over launches of tokens per second.", "The same with disturbed blocks included.")  # fmt: skip
_FIXED = OverLaunches("token_fixed", "_ms", _generation(lambda of: of.fixed_ms),
    "Part of a token's time that does not depend on the length: `a` of `a + b x length`.",
    "Null: the fit is one over launches.")  # fmt: skip
_POSITION = OverLaunches("position", "_us", _generation(lambda of: of.position_us),
    "What each position in the cache adds to a token's time: `b` of `a + b x length`.",
    "Null: the fit is one over launches.")  # fmt: skip

_MEMORY = OverLaunches("position", "_bytes", _generation(lambda of: of.position_bytes),
    "Memory that each position adds to the process in its first text.",
    "Null: it is read once in each launch.")  # fmt: skip

GENERATION = (
    Column("new_tokens", COUNT, "Tokens that each call generates, with --generate.",
        speed=_generation(lambda of: of.new_tokens)),
    Column("prompt_tokens", COUNT, "Tokens that a decoder reads first: the prompt, or one where an encoder reads it.",
        speed=_generation(lambda of: of.prompt)),
    Column("first_token_ms", NUMBER, "Time to the first token: reading the prompt.",
        speed=_value(lambda of: of.first_token_ms), in_python=True,
        in_speeds=ShownSpeed(122, "first token ms", spread=_spread, spans=_FIRST.spans, is_shown=_times_tokens,
            when=_WHEN, legend=Legend(43, _times_legend),
            explained="from the begin of a call to its first token, which takes reading the prompt (TTFT)")),
    Column("token_ms", NUMBER, "Time from one token to the next, the median over all of a call.",
        speed=_value(lambda of: of.token_ms), in_python=True,
        in_speeds=ShownSpeed(124, "token ms", spread=_spread, spans=_TOKEN.spans, is_shown=_times_tokens, when=_WHEN,
            explained="from one token to the next, the median over all of a call (TPOT)")),
    Column("position_us", NUMBER, "What each position in the cache adds to the time of a token, in microseconds.",
        speed=_value(lambda of: of.position_us),
        in_speeds=ShownSpeed(126, "us/position", drops=4, spans=_POSITION.spans, is_shown=_fits, when=_WHEN,
            legend=Legend(44, _fit_legend),
            explained="`b` where the time of a token is `a + b x length`, the length that of the cache: the median "
            "slope over the tokens of each launch, the median over launches")),
    Column("token_fixed_ms", NUMBER, "Part of a token's time that does not depend on the length.",
        speed=_value(lambda of: of.fixed_ms)),
    Column("tokens_per_s", NUMBER, "Tokens per second, of all samples and streams together.",
        speed=_generation(lambda of: of.tokens_per_s.value), in_python=True,
        in_speeds=ShownSpeed(128, "tokens/s", spread=_spread, spans=_RATE.spans, is_shown=generates,
            when=_WHEN, legend=Legend(42, _legend),
            explained="generated tokens / wall time, of all samples of a batch and all streams together, "
            "reading prompts included")),
    Column("cache_bytes", COUNT, "Size of a stream's caches at the end of a call.",
        speed=_generation(lambda of: of.cache_bytes),
        in_speeds=ShownSpeed(205, "cache MB", lambda held: significant(held / 1e6), drops=5, is_shown=_knows_caches,
            when=_WHEN, explained="the size of a stream's caches at the end of a call, 10^6 bytes")),
    Column("position_bytes", NUMBER, "Memory that each position in the cache adds to a process, in its first text.",
        speed=_value(lambda of: of.position_bytes),
        in_speeds=ShownSpeed(206, "kB/position", lambda grown: significant(grown / 1e3), drops=6, spans=_MEMORY.spans,
            is_shown=_knows_memory, when=_WHEN,
            explained="what each position in the cache adds to the resident memory of a process, 10^3 bytes: its "
            "growth over its first text from the second token on, with what a runtime keeps besides the cache, and "
            "without what verification keeps; `-` where that is less than 4 MiB")),
    *_FIRST.columns,
    *_TOKEN.columns,
    *_RATE.columns,
    *_FIXED.columns,
    *_POSITION.columns,
    *_MEMORY.columns,
)  # fmt: skip
