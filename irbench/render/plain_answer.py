"""What a table found in sentences for readers who know nothing of benchmarks: without brackets, codes and columns."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import NamedTuple

from irbench.core.quantities import percent, plural, ratio, significant, size_text
from irbench.core.result import GroupResult, Lead, Winner
from irbench.core.row import CellResult, Ends, distinguish, name_of
from irbench.render.accuracy_texts import accuracy_text, measure_text
from irbench.render.columns.neighbours import has_neighbours
from irbench.render.verdicts import NO_WINNER_TEXTS

_NOT_CLEAR = "No row is clearly faster"


class _Claim(NamedTuple):
    """That a row is the fastest, and by how much against another.

    Attributes:
        other: The baseline where it is certainly slower, otherwise the row that comes next.
    """

    row: CellResult
    other: CellResult
    ratio: float
    ends: Ends | None
    launches: int | None

    @property
    def texts(self) -> tuple[str, str, str]:
        """The ratio and the ends of its interval, with as many digits as it takes."""
        low, high = (self.ratio, self.ratio) if self.ends is None else (self.ends.low, self.ends.high)
        return ratio(self.ratio, low, high)


def plain_headline(result: GroupResult) -> str:
    """Return ``openvino runs resnet50 1.14 times as fast as tf``, or that no row is clearly faster and why.

    Of a single row it is how fast that is. Empty where several rows are not compared, or ran beside neighbours.
    """
    lead = _lead(result)
    if lead is None:
        return "" if len(result.cells) != 1 else _alone(result, result.cells[0])
    where = "" if result.condition is None else " on a busy machine"
    claim = _claim(result)
    if claim is not None:
        return f"{_faster(result, claim)}{where}"
    assert isinstance(lead, Lead), "a winner of an older document has won"
    assert lead.reason is not None, "the lead has not won"
    names = _names(result)
    why = NO_WINNER_TEXTS[lead.reason].plain.format(
        leader=names[lead.cell], rival=names[lead.rival], throughput=result.throughput_unit, within=_within(lead)
    )
    return f"{_NOT_CLEAR}: {why}{where if lead.reason in ('same', 'undecided') else ''}"


def plain_details(result: GroupResult, confidence: float) -> Iterator[str]:
    """Yield what the headline leaves out: intervals, the row that comes next, and that the machine was busy.

    Nothing where the headline is not of a ratio, so that its reasons are to be read in full elsewhere.
    """
    claim, lead = _claim(result), _lead(result)
    if lead is None or (claim is None and not is_of_ratio(result)):
        return
    names = _names(result)
    if claim is not None and claim.ends is not None:
        yield f"{_between(claim.texts, claim.ends, claim.launches, confidence).capitalize()}."
    ends = Ends(lead.low, lead.high, is_range=False) if isinstance(lead, Winner) else lead.ends
    if claim is None or claim.other.id != lead.rival:
        low, high = (lead.value, lead.value) if ends is None else (ends.low, ends.high)
        texts = ratio(lead.value, low, high)
        launches = None if isinstance(lead, Winner) else lead.launches
        after = f" after {plural(launches, 'launch')}" if launches else ""
        span = after if ends is None else f", {_between(texts, ends, launches, confidence)}"
        next_row = f"{names[lead.rival]} comes next: " if claim is not None else ""
        yield f"{next_row}{_ahead(result, names[lead.cell], names[lead.rival], texts[0])}{span}."
    if result.condition is not None:
        blocks = plural(result.blocks_measured, "block")
        yield f"Other programs disturbed {result.blocks_disturbed} of {blocks}, so a quiet machine may differ."
    if result.unverified:
        yield "Outputs were not verified."


def _ahead(result: GroupResult, row: str, other: str, times: str) -> str:
    if result.objective == "cost":
        return f"{other} needs {times} times the processor time per sample of {row}"
    return f"{row} is {times} times as fast as {other}"


def is_of_ratio(result: GroupResult) -> bool:
    """Whether all that a table found is a ratio of two rows: a row won, or the interval is why none did."""
    lead = _lead(result)
    if lead is None or isinstance(lead, Winner):
        return lead is not None
    return lead.reason in (None, "same", "undecided", "preview") and lead.contradiction is None


def _between(texts: tuple[str, str, str], ends: Ends, launches: int | None, confidence: float) -> str:
    _, low, high = texts
    over = "" if launches is None else f" over {plural(launches, 'launch')}"
    if ends.is_range:
        return f"between {low} and {high} times{over}, which are too few for a confidence interval"
    return f"between {low} and {high} times, with {100 * confidence:g} % confidence{over}"


def recommendation(result: GroupResult) -> Iterator[str]:
    """Yield which row to use, how good its outputs are, and how much memory it needs; or that none is recommended."""
    lead, claim = _lead(result), _claim(result)
    if lead is None:
        return
    names, rows = _names(result), {cell.id: cell for cell in result.cells}
    if claim is not None:
        threads = claim.row.all_threads
        how = "" if threads is None else f" and {plural(threads, 'thread')}"
        yield f"Use {claim.row.label} in {_precision(claim.row)}, with batch {claim.row.batch}{how}."
        yield _accuracy(claim.row, claim.other, names)
        yield from _memory(claim.row, claim.other, names)
    elif isinstance(lead, Lead) and lead.reason == "same":
        row, other = rows[lead.cell], rows[lead.rival]
        yield f"Use {names[row.id]} or {names[other.id]}: the difference in speed does not matter."
        yield _accuracy(row, other, names)
        yield from _memory(row, other, names)
    else:
        yield "No row can be recommended yet. Measure longer (--budget), or on a quiet machine."


def _lead(result: GroupResult) -> Lead | Winner | None:
    return None if has_neighbours(result) else result.lead or result.winner


def _claim(result: GroupResult) -> _Claim | None:
    """Return what the headline claims; ``None`` where no row may be called the fastest."""
    lead = _lead(result)
    if lead is None or (isinstance(lead, Lead) and lead.reason is not None):
        return None
    rows = {cell.id: cell for cell in result.cells}
    row, speedup = rows[lead.cell], rows[lead.cell].speedup
    if speedup is not None and speedup.verdict == "faster" and result.baseline in rows:
        return _Claim(row, rows[result.baseline], speedup.value, speedup.ends, speedup.launches)
    if isinstance(lead, Winner):
        return _Claim(row, rows[lead.rival], lead.value, Ends(lead.low, lead.high, is_range=False), None)
    return _Claim(row, rows[lead.rival], lead.value, lead.ends, lead.launches)


def _faster(result: GroupResult, claim: _Claim) -> str:
    names = _names(result)
    row, other = names[claim.row.id], names[claim.other.id]
    model = "" if claim.row.model != claim.other.model else f" {result.model}"
    if result.objective == "cost":
        return f"{row} runs{model} with {100 / claim.ratio:.0f} % of the processor time per sample that {other} needs"
    times, *_ = claim.texts
    if result.objective == "latency":
        return f"{row} {'trains' if result.is_training else 'runs'}{model} {times} times as fast as {other}"
    does, what = ("generates", "tokens") if result.throughput_unit == "tokens/s" else ("processes", "samples")
    return f"{row} {does} {times} times as many {what}{' of' if model else ''}{model} per second as {other}"


def _alone(result: GroupResult, row: CellResult) -> str:
    """Return how fast the only row of a table is; empty where it has no valid figures."""
    if row.state != "ok" or row.latency_ms is None:
        return ""
    name = _names(result)[row.id]
    if row.generation is not None:
        return (
            f"{name} generates {significant(row.generation.tokens_per_s.value)} tokens per second with {result.model}"
        )
    if result.is_training:
        return f"{name} trains {result.model} on {significant(row.fps)} samples per second"
    if result.objective == "fps":
        return f"{name} processes {significant(row.fps)} samples of {result.model} per second"
    return f"{name} runs {result.model} in {significant(row.latency_ms.p50)} ms"


def _names(result: GroupResult) -> Mapping[str, str]:
    """Return what sentences call each row, with its precision where rows differ in that."""
    names = distinguish({cell.id: replace(name_of(cell, cell.model or ""), precision="") for cell in result.cells})
    precisions = {cell.id: _precision(cell) for cell in result.cells}
    if len(set(precisions.values())) == 1:
        return names
    return {row: f"{name} in {precisions[row]}" for row, name in names.items()}


def _precision(row: CellResult) -> str:
    return str(row.effective.get("precision") or row.requested.precision)


def _within(lead: Lead) -> str:
    """Return by how much two rows that are the same may differ at most."""
    return "" if lead.ends is None else percent(max(lead.ends.high, 1 / lead.ends.low) - 1)


def _accuracy(row: CellResult, other: CellResult, names: Mapping[str, str]) -> str:
    """Return what the recommended row costs in accuracy, as far as that was measured."""
    if row.accuracy is not None:
        limit = row.accuracy.limit
        own = f"{measure_text(limit)} {accuracy_text(row.accuracy.value, limit)}"
        if other.accuracy is None:
            return f"Accuracy: {own}."
        return f"Accuracy: {own} against {accuracy_text(other.accuracy.value, limit)} of {names[other.id]}."
    if row.speedup is not None and row.speedup.verified:
        return "Accuracy was not measured; outputs agree with the reference within the tolerance of the precision."
    return "Accuracy was not measured."


def _memory(row: CellResult, other: CellResult, names: Mapping[str, str]) -> Iterator[str]:
    """Yield the peak memory of both rows, on the machine and on its GPU, as far as it is known."""
    for part, what in (("process", "Peak memory"), ("gpu", "Peak GPU memory")):
        own, others = ((each.peak_memory_bytes or {}).get(part) for each in (row, other))
        if own and others:
            yield f"{what}: {size_text(own)} against {size_text(others)} of {names[other.id]}, {_change(own, others)}."


def _change(value: float, base: float) -> str:
    share = value / base - 1
    return "the same" if abs(share) < 0.005 else f"{100 * abs(share):.0f} % {'more' if share > 0 else 'less'}"
