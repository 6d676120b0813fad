"""The figures that charts of a run show: one record a mark, made of the document and its raw samples."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias, get_args

import numpy as np

from irbench.core.record import CellLaunch, LaunchRecord, Round
from irbench.core.result import GroupResult, RunDocument
from irbench.core.row import CellResult, WithEnds, row_names
from irbench.render.columns.neighbours import slowdown_of
from irbench.spi import Array
from irbench.stats.figures import Rounds
from irbench.stats.observed import call_latency_ns, sort_blocks
from irbench.stats.rederive import blocks_in_table, planned_timing
from irbench.stats.run_modes.generation import between_tokens_ns

Record: TypeAlias = dict[str, str | float | int | bool | None]
"""What a mark stands for: ``key`` is the row that it belongs to, and ``text`` what it says to a screen reader."""
Setting: TypeAlias = Literal["batch", "threads", "streams", "instances"]
SETTINGS: tuple[Setting, ...] = get_args(Setting)
SETTING_TITLES: Mapping[Setting, str] = {
    "batch": "batch size",
    "threads": "threads of each process",
    "streams": "concurrent inferences",
    "instances": "processes",
}

BASELINE = "baseline"
"""The verdict of the row that others are compared with, which has none."""
MOST_LINES = 12
"""Rows of a chart with a line or a colour for each."""
_QUANTILES = 120
"""Points of a line at most."""
_EXCLUDED = {"disturbed": "disturbed, excluded", "undisturbed": "burn-in, excluded"}
"""Of blocks that do not count: the first of a launch, where nothing disturbed it."""
_FEWEST_ON_LINE = 3
"""Tokens that make a line of times between them."""


@dataclass(frozen=True)
class ChartRow:
    """A row of a table as charts know it.

    Attributes:
        key: Unique in the page, also where two rows are called the same.
        label: What the table calls it; no other row of the table is called the same.
        result: Its figures.
        model: What it runs, where the rows of its table run several; otherwise empty.
    """

    key: str
    label: str
    result: CellResult
    model: str = ""

    @property
    def series(self) -> str:
        """What runs it, without the settings that differ: its backend, device and form of the model."""
        row = self.result
        parts = (
            self.model,
            row.backend,
            row.device if row.device != "cpu" else "",
            row.artifact.partition("+")[2],
        )
        return " ".join(filter(None, (*parts, str(row.effective.get("precision", row.requested.precision)))))


def chart_rows(table: GroupResult, number: int) -> tuple[ChartRow, ...]:
    """Return the rows of a table, in its order; ``number`` is its place in the page."""
    names = row_names(table.cells)
    is_of_several = len({cell.model for cell in table.cells}) > 1
    return tuple(
        ChartRow(f"t{number}r{place}", names[cell.id], cell, (cell.model or "") if is_of_several else "")
        for place, cell in enumerate(table.cells)
    )


def fastest(rows: Sequence[ChartRow]) -> tuple[ChartRow, ...]:
    """Return the rows with figures that a chart has lines for: the first, since tables begin with the fastest."""
    return tuple(row for row in rows if row.result.latency_ms is not None)[:MOST_LINES]


def speedups(rows: Iterable[ChartRow]) -> list[Record]:
    """Return how many times as fast as the baseline each other row is, with its interval or range."""
    return [
        {
            "key": row.key,
            "row": row.label,
            "value": speedup.value,
            "verdict": speedup.verdict,
            **ends_of(speedup, speedup.value),
        }
        for row in rows
        if (speedup := row.result.speedup) is not None
    ]


def speed_bars(rows: Sequence[ChartRow], baseline: str | None) -> list[Record]:
    """Return the speedup of each row with figures, the fastest first, and 1 of the baseline.

    Args:
        rows: Those of a table.
        baseline: The id of its baseline.

    Returns:
        A record a row; nothing where no row is compared.
    """
    compared = speedups(rows)
    own = next((row for row in rows if row.result.id == baseline and row.result.speedup is None), None)
    if compared and own is not None:
        compared.append({"key": own.key, "row": own.label, "value": 1.0, "verdict": BASELINE, **ends_of(None, 1.0)})
    return sorted(compared, key=lambda record: -number_of(record["value"]))


def slowdowns(rows: Iterable[ChartRow]) -> list[Record]:
    """Return how many times as long as alone each row takes beside a neighbour, by its intensity.

    Empty where no neighbour has two intensities.
    """
    beside = [
        {
            "key": row.key,
            "row": row.label,
            "series": neighbour.name,
            "intensity": neighbour.intensity,
            "value": slowdown.value,
            **ends_of(slowdown, slowdown.value),
        }
        for row in rows
        if (neighbour := row.result.requested.beside) is not None and neighbour.is_graded
        if (slowdown := slowdown_of(row.result)) is not None
    ]
    return beside if len({record["intensity"] for record in beside}) > 1 else []


@dataclass(frozen=True)
class Throughput:
    """How much a row does in a second, with its interval or range over launches, where there is one."""

    value: float
    spans: WithEnds | None


def throughput_of(row: CellResult) -> Throughput | None:
    """Return the tokens per second of a generation, and the frames per second of others; ``None`` without figures."""
    if row.generation is not None:
        tokens = row.generation.tokens_per_s
        return Throughput(tokens.value, tokens)
    return None if row.fps is None else Throughput(row.fps, row.fps_over_launches)


def loads(rows: Sequence[ChartRow], setting: Setting) -> list[Record]:
    """Return the throughput against a setting; empty where no two rows with figures differ in it."""
    rows_with_load = [
        {
            "key": row.key,
            "row": row.label,
            "series": _other_settings(row, setting),
            "setting": value,
            "value": rate.value,
            **ends_of(rate.spans, rate.value),
        }
        for row in rows
        if (rate := throughput_of(row.result)) is not None and (value := _setting(row.result, setting)) is not None
    ]
    return rows_with_load if len({record["setting"] for record in rows_with_load}) > 1 else []


def heat(rows: Iterable[tuple[ChartRow, str, str]]) -> list[Record]:
    """Return the throughput of rows at each batch and shape; empty unless both have several values.

    Args:
        rows: With what they and their shapes are called, which does not differ where only the batch does.
    """
    fields: list[Record] = [
        {
            "key": row.key,
            "row": row.label,
            "series": series,
            "setting": row.result.batch,
            "shape": shape,
            "value": rate.value,
        }
        for row, series, shape in rows
        if (rate := throughput_of(row.result)) is not None
    ]
    varies = all(len({field[setting] for field in fields}) > 1 for setting in ("setting", "shape"))
    return sorted(fields, key=lambda field: str(field["series"])) if varies else []


def tradeoffs(rows: Iterable[ChartRow]) -> list[Record]:
    """Return latency, throughput and memory of each row, and whether no other row is better in both speeds."""
    measured_rows = [row for row in rows if row.result.latency_ms is not None and row.result.fps is not None]
    return [
        {
            "key": row.key,
            "row": row.label,
            "series": row.series,
            "p50_ms": latency.p50,
            "rate": rate.value,
            "memory_mb": (row.result.peak_memory_bytes or {}).get("process", 0) / 1e6,
            "is_best": not any(_is_better(other.result, row.result) for other in measured_rows),
        }
        for row in measured_rows
        if (latency := row.result.latency_ms) is not None and (rate := throughput_of(row.result)) is not None
    ]


def accuracies(rows: Iterable[ChartRow]) -> list[Record]:
    """Return the accuracy of each row beside its speed; empty where none was measured."""
    return [
        {
            "key": row.key,
            "row": row.label,
            "series": str(row.result.effective.get("precision", row.result.requested.precision)),
            "rate": rate.value,
            "accuracy": row.result.accuracy.value,
        }
        for row in rows
        if row.result.accuracy is not None and (rate := throughput_of(row.result)) is not None
    ]


@dataclass(frozen=True)
class ChartSamples:
    """What charts show of the raw samples of a table.

    Attributes:
        distribution: Cumulative share of calls by latency: ``latency_ms`` and ``share`` of each row.
        launches: The median of each launch of each row.
        blocks: Each row in each block, in the order of measurement: its latency relative to the row's median, and what
            disturbed it.
        tokens: Of generations, the median time of the token at each length of the cache of each row.
    """

    distribution: list[Record]
    launches: list[Record]
    blocks: list[Record]
    tokens: list[Record]


def samples(
    document: RunDocument, number: int, rows: Sequence[ChartRow], launches: Iterable[LaunchRecord]
) -> ChartSamples:
    """Return what charts show of a table's raw samples.

    Args:
        document: Says which blocks count.
        number: Of the table in its run.
        rows: Those that are shown.
        launches: Of the run; those of other tables are left out.
    """
    by_cell = {row.result.id: row for row in rows}
    timing = planned_timing(document.plan)
    counted: dict[str, list[Array]] = {cell: [] for cell in by_cell}
    rounds: dict[str, list[tuple[CellLaunch, Round]]] = {cell: [] for cell in by_cell}
    of_launches: list[Record] = []
    of_blocks: list[Record] = []
    for record in launches:
        if record.group != number:
            continue
        sorted_blocks = sort_blocks(record, timing)
        for launch in record.cells:
            row = by_cell.get(launch.cell)
            if row is None:
                continue
            blocks = blocks_in_table(record, sorted_blocks, document.groups[number], launch.cell)
            taken = _latencies(launch, blocks.counted)
            if taken.size:
                counted[launch.cell].append(taken)
                of_launches.append(
                    {"key": row.key, "row": row.label, "launch": record.launch + 1, "value": float(np.median(taken))}
                )
            rounds[launch.cell] += [
                (launch, each) for each in launch.rounds if each.block in blocks.counted and each.part_ns.size
            ]
            of_blocks += _blocks(row, launch, record.launch, blocks.dirty, blocks.counted)
    places = {row.key: place for place, row in enumerate(rows)}
    of_launches.sort(key=lambda record: places[str(record["key"])])
    tokens = [record for cell, own in rounds.items() for record in _tokens(by_cell[cell], own)]
    return ChartSamples(list(_distribution(counted, by_cell)), of_launches, of_blocks, tokens)


def _distribution(counted: Mapping[str, Sequence[Array]], rows: Mapping[str, ChartRow]) -> Iterator[Record]:
    for cell, parts in counted.items():
        if not parts:
            continue
        taken = np.sort(np.concatenate(parts))
        shares = np.unique(np.linspace(1 / taken.size, 1, min(taken.size, _QUANTILES)))
        for share in shares:
            latency_ms = taken[max(0, int(np.ceil(share * taken.size)) - 1)]
            yield {
                "key": rows[cell].key, "row": rows[cell].label, "latency_ms": float(latency_ms), "share": float(share),
            }  # fmt: skip


def _tokens(row: ChartRow, rounds: Rounds) -> Iterator[Record]:
    generation = row.result.generation
    if generation is None or not rounds or generation.token_ms is None or generation.new_tokens < _FEWEST_ON_LINE:
        return
    between_ms = np.median(between_tokens_ns(rounds), axis=0) / 1e6
    for place in np.unique(np.linspace(0, between_ms.size - 1, min(between_ms.size, _QUANTILES)).astype(int)):
        length = generation.prompt + int(place)
        yield {"key": row.key, "row": row.label, "length": length, "value": float(between_ms[place])}


def _blocks(
    row: ChartRow, launch: CellLaunch, number: int, dirty: frozenset[int], counts: frozenset[int]
) -> Iterator[Record]:
    median = row.result.latency_ms.p50 if row.result.latency_ms is not None else None
    for round_ in launch.rounds:
        latencies = call_latency_ns(round_, launch.calls_per_sample) / 1e6
        if not median or not latencies.size:
            continue
        state = "disturbed" if round_.block in dirty else "undisturbed"
        yield {
            "key": row.key,
            "row": row.label,
            "launch": number + 1,
            "block": round_.block + 1,
            "relative": float(np.median(latencies)) / median,
            "state": state if round_.block in counts else _EXCLUDED[state],
            "is_disturbed": round_.block in dirty,
        }


def _latencies(launch: CellLaunch, counts: frozenset[int]) -> Array:
    """Return the latencies of the calls that count, in milliseconds."""
    calls = launch.calls_per_sample
    parts = [call_latency_ns(round_, calls) for round_ in launch.rounds if round_.block in counts]
    return np.concatenate(parts) / 1e6 if parts else np.empty(0)


def ends_of(figure: WithEnds | None, value: float | None) -> Record:
    """Return the ends of a figure's interval or range; the value itself where it has neither."""
    ends = figure.ends if figure is not None else None
    if ends is None:
        return {"low": value, "high": value, "is_interval": False}
    return {"low": ends.low, "high": ends.high, "is_interval": not ends.is_range}


def number_of(value: object) -> float:
    """Return a value of a record that is a number."""
    assert isinstance(value, int | float)
    return float(value)


def _setting(row: CellResult, setting: Setting) -> int | None:
    if setting == "batch":
        return row.batch
    if setting == "threads":
        return row.effective.get("threads") if isinstance(row.effective.get("threads"), int) else row.requested.threads  # type: ignore[return-value]
    return row.requested.streams if setting == "streams" else row.requested.instances


def _other_settings(row: ChartRow, setting: Setting) -> str:
    """Return what a line of the chart has in common: the series, and the settings besides the one that it follows."""
    others = [
        f"{name} {value}"
        for name in SETTINGS
        if name != setting and (value := _setting(row.result, name)) not in (None, 1)
    ]
    return ", ".join((row.series, *others))


def _is_better(one: CellResult, other: CellResult) -> bool:
    """Whether a row is at least as good as another in latency and FPS, and better in one of them."""
    assert one.latency_ms is not None
    assert other.latency_ms is not None
    assert one.fps is not None
    assert other.fps is not None
    pairs = (-one.latency_ms.p50, one.fps), (-other.latency_ms.p50, other.fps)
    return all(a >= b for a, b in zip(*pairs, strict=True)) and pairs[0] != pairs[1]
