"""Columns of generations: the first token, the tokens after it, and the caches."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from irbench.core.quantities import plural, significant
from irbench.core.result import GroupResult
from irbench.core.row import CellResult, Generated, Spans
from irbench.notices import Context
from irbench.render.columns.declaration import COUNT, NUMBER, Column, Legend, OverLaunches, RowPart, ShownSpeed, never

_generation = RowPart[CellResult, Generated](lambda cell: cell.generation)
_WHEN = "with `--generate`"
_ON_REQUEST = "with `--generate` and `--all-columns`"


def _times_tokens(result: GroupResult) -> bool:
    return any(cell.generation is not None and cell.generation.first_token_ms is not None for cell in result.cells)


def _reads_prompts(result: GroupResult) -> bool:
    return any(cell.generation is not None and cell.generation.prompt_tokens_per_s is not None for cell in result.cells)


def _fits(result: GroupResult) -> bool:
    return any(cell.generation is not None and cell.generation.position_us is not None for cell in result.cells)


def _knows_caches(result: GroupResult) -> bool:
    return any(cell.generation is not None and cell.generation.cache_bytes is not None for cell in result.cells)


def _knows_memory(result: GroupResult) -> bool:
    return any(cell.generation is not None and cell.generation.position_bytes is not None for cell in result.cells)


def _legend(result: GroupResult, _context: Context) -> Iterator[str]:
    for new_tokens in sorted({cell.generation.new_tokens for cell in result.cells if cell.generation is not None}):
        yield f"p50: time of a generation of {plural(new_tokens, 'token')}"


def _prompt_legend(result: GroupResult, _context: Context) -> Iterator[str]:
    if _reads_prompts(result):
        yield "prompt tok/s: prompt tokens / time to the first token"


def _times_legend(result: GroupResult, _context: Context) -> Iterator[str]:
    if _times_tokens(result):
        yield "token ms: from one token to the next"


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
_PROMPT_RATE = OverLaunches("prompt_tokens_per_s", "", _generation(lambda of: of.prompt_tokens_per_s),
    "Median over launches of prompt tokens per second.", "The same with disturbed blocks included.")  # fmt: skip
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


def _percentile_column(
    name: str, place: int, heading: str, read: Callable[[Generated], float | None], meaning: str, explained: str
) -> Column[float | None]:
    def is_known(result: GroupResult) -> bool:
        return any(cell.generation is not None and read(cell.generation) is not None for cell in result.cells)

    shown = ShownSpeed(
        place, heading, drops=3, is_shown=is_known, is_usual=never, when=_ON_REQUEST, explained=explained
    )
    return Column(name, NUMBER, meaning, speed=_generation(read), in_speeds=shown)


GENERATION = (
    Column("new_tokens", COUNT, "Tokens that each call generates, with --generate.",
        speed=_generation(lambda of: of.new_tokens)),
    Column("prompt_tokens", COUNT, "Tokens that a decoder reads first: the prompt, or one where an encoder reads it.",
        speed=_generation(lambda of: of.prompt)),
    Column("prompt_tokens_per_s", NUMBER,
        "Prompt tokens of a batch per second of the time to the first token, of one stream; null with an encoder.",
        speed=_value(lambda of: of.prompt_tokens_per_s), in_python=True,
        in_speeds=ShownSpeed(121, "prompt tok/s", spread=_spread, spans=_PROMPT_RATE.spans, is_shown=_reads_prompts,
            when=_WHEN, legend=Legend(43, _prompt_legend),
            explained="batch x prompt tokens / time to the first token, of one stream (pp of llama-bench); `-` with "
            "an encoder")),
    Column("first_token_ms", NUMBER, "Time to the first token: reading the prompt.",
        speed=_value(lambda of: of.first_token_ms), in_python=True,
        in_speeds=ShownSpeed(122, "first token ms", spread=_spread, spans=_FIRST.spans, is_shown=_times_tokens,
            when=_WHEN, legend=Legend(44, _times_legend),
            explained="from the begin of a call to its first token, which takes reading the prompt (TTFT)")),
    _percentile_column("first_token_p90_ms", 123, "first token p90 ms", lambda of: of.first_token_p90_ms,
        "90th percentile of the time to the first token, over all calls.",
        "the time to the first token that 90 % of calls stay below; `-` with fewer than 44 calls"),
    _percentile_column("first_token_p99_ms", 124, "first token p99 ms", lambda of: of.first_token_p99_ms,
        "99th percentile of the time to the first token, over all calls.",
        "the same of 99 % of calls; `-` with fewer than 459 calls"),
    Column("token_ms", NUMBER, "Time from one token to the next, the median over all of a call.",
        speed=_value(lambda of: of.token_ms), in_python=True,
        in_speeds=ShownSpeed(125, "token ms", spread=_spread, spans=_TOKEN.spans, is_shown=_times_tokens, when=_WHEN,
            explained="from one token to the next, the median over all of a call (TPOT)")),
    _percentile_column("token_p90_ms", 126, "token p90 ms", lambda of: of.token_p90_ms,
        "90th percentile of the time from one token to the next, over all tokens of all calls.",
        "the time from one token to the next that 90 % of all tokens stay below; `-` with fewer than 44"),
    _percentile_column("token_p99_ms", 127, "token p99 ms", lambda of: of.token_p99_ms,
        "99th percentile of the time from one token to the next, over all tokens of all calls.",
        "the same of 99 % of all tokens; `-` with fewer than 459"),
    Column("position_us", NUMBER, "What each position in the cache adds to the time of a token, in microseconds.",
        speed=_value(lambda of: of.position_us),
        in_speeds=ShownSpeed(128, "us/position", drops=4, spans=_POSITION.spans, is_shown=_fits,
            is_usual=never, when=_ON_REQUEST,
            explained="`b` where the time of a token is `a + b x length`, the length that of the cache: the median "
            "slope over the tokens of each launch, the median over launches")),
    Column("token_fixed_ms", NUMBER, "Part of a token's time that does not depend on the length.",
        speed=_value(lambda of: of.fixed_ms)),
    Column("tokens_per_s", NUMBER, "Tokens per second, of all samples and streams together.",
        speed=_generation(lambda of: of.tokens_per_s.value), in_python=True,
        in_speeds=ShownSpeed(129, "tokens/s", spread=_spread, spans=_RATE.spans,
            is_shown=lambda result: result.is_generation, when=_WHEN, legend=Legend(42, _legend),
            explained="generated tokens / wall time, of all samples of a batch and all streams together, "
            "reading prompts included")),
    Column("cache_bytes", COUNT, "Size of a stream's caches at the end of a call.",
        speed=_generation(lambda of: of.cache_bytes),
        in_speeds=ShownSpeed(205, "cache MB", lambda held: significant(held / 1e6), drops=5, is_shown=_knows_caches,
            is_usual=never, when=_ON_REQUEST,
            explained="the size of a stream's caches at the end of a call, 10^6 bytes")),
    Column("position_bytes", NUMBER, "Memory that each position in the cache adds to a process, in its first text.",
        speed=_value(lambda of: of.position_bytes),
        in_speeds=ShownSpeed(206, "kB/position", lambda grown: significant(grown / 1e3), drops=6, spans=_MEMORY.spans,
            is_shown=_knows_memory, is_usual=never, when=_ON_REQUEST,
            explained="what each position in the cache adds to the resident memory of a process, 10^3 bytes: its "
            "growth over its first text from the second token on, with what a runtime keeps besides the cache, and "
            "without what verification keeps; `-` where that is less than 4 MiB")),
    *_PROMPT_RATE.columns,
    *_FIRST.columns,
    *_TOKEN.columns,
    *_RATE.columns,
    *_FIXED.columns,
    *_POSITION.columns,
    *_MEMORY.columns,
)  # fmt: skip
