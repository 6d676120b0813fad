"""The sentence above a table: which row is fastest and by how much, or why there is no winner."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from irbench.core.quantities import plural, times
from irbench.core.result import GroupResult, Lead, NoWinner, UnevenLoad, Winner
from irbench.core.row import Ends, is_too_slow, row_names
from irbench.notices import Context
from irbench.notices.warnings import OrderRow, OrdersDiffer
from irbench.render.figures import ratio_with_ends
from irbench.render.table_title import compared_how

_UNDECIDED: Mapping[NoWinner, str] = {
    "same": "{leader} and {rival} are the same",
    "undecided": "{leader} and {rival} cannot be distinguished",
}
_CONTRADICTED: Mapping[NoWinner, str] = {
    "all-blocks-disagree": "{leader} leads in undisturbed blocks, {rival} over all blocks. Repeat the run on a quiet"
    " machine",
    "throughput-disagrees": "{leader} has the lower median latency, {rival} the higher throughput (FPS), which"
    " includes slow calls. Compare p90, and choose by what matters to you",
    "p50-disagrees": "{leader} leads by speedup, another row has the lower p50. Compare p90 and FPS",
    "sustained-disagrees": "{leader} leads when rows are interleaved, {rival} when each runs alone. Choose by how"
    " you deploy",
}
"""What contradicts the leader, and what to do about it."""


def headline(result: GroupResult, context: Context) -> str:
    """Return who is fastest, against whom, by how much; or what can be said instead.

    Args:
        result: The table.
        context: Which remedies are left.
    """
    said = _leader(result, context)
    return f"{said}; outputs not verified" if said and result.unverified else said


def _leader(result: GroupResult, context: Context) -> str:
    names = row_names(result.cells)
    ranked = [cell for cell in result.cells if cell.state == "ok" and cell.latency_ms is not None]
    if result.lead is not None:
        return _lead(result, result.lead, context)
    if result.winner is not None:  # a document from before leads were stored
        return (
            f"{names[result.winner.cell]} is fastest: {_ahead(result, result.winner)} (adjusted for multiple"
            " comparisons)"
        )
    if not ranked:
        return "no row has a valid result"
    if _bound_ms(result) < math.inf and ranked:
        return _without_rivals([names[cell.id] for cell in ranked if not is_too_slow(cell)], _bound_ms(result))
    return f"only {names[ranked[0].id]} has a valid result" if len(ranked) == 1 < len(result.cells) else ""


def _bound_ms(result: GroupResult) -> float:
    return math.inf if result.goal is None or result.goal.max_latency_ms is None else result.goal.max_latency_ms


def _without_rivals(able: Sequence[str], bound_ms: float) -> str:
    """Return which row answers in time, where there are no two of them."""
    if not able:
        return f"no row has a p90 latency of at most {bound_ms:g} ms"
    return f"only {able[0]} has a p90 latency of at most {bound_ms:g} ms" if len(able) == 1 else ""


def _lead(result: GroupResult, lead: Lead, context: Context) -> str:
    """Return who is fastest and by how much, or why nobody can be called so and what to do about it."""
    names = row_names(result.cells)
    leader, rival, ahead = names[lead.cell], names[lead.rival], _ahead(result, lead)
    where, reservation = _condition(result)
    if lead.reason is None:
        return f"{leader} is fastest{where}: {ahead}{_adjusted(result)}{reservation}"
    order = _contradicted_order(result, lead)
    if lead.reason == "preview" and order is not None:
        return f"preview{where}: {_no_order(names, order)}{reservation}"
    if lead.reason == "preview":
        return f"preview{where}: {_preview(leader, rival, ahead, lead)}{reservation}"
    if lead.reason == "p50-disagrees" and order is not None:
        return f"no winner: {_no_order(names, order)}"
    if lead.reason == "busy":
        return f"no winner: {_too_busy(result, context)}"
    if lead.reason == "uneven-load" and result.uneven_load is not None:
        return f"no winner: {_unevenly_busy(result.uneven_load, names)}"
    if lead.reason in ("same", "undecided"):
        said = _UNDECIDED[lead.reason].format(leader=leader, rival=rival)
        return f"no winner: {said}{where}: {ahead}{_adjusted(result)}{reservation}"
    return f"no winner: {_CONTRADICTED[lead.reason].format(leader=leader, rival=rival)}"


def _contradicted_order(result: GroupResult, lead: Lead) -> OrderRow | None:
    """Return the rows of which one leads by speedup and another has the better p50 or FPS, where there are two."""
    rows = (row for warning in result.warnings if isinstance(warning, OrdersDiffer) for row in warning.rows)
    return next((row for row in rows if row.cell == lead.cell), None)


def _no_order(names: Mapping[str, str], order: OrderRow) -> str:
    leader, other = names[order.cell], names[order.other]
    ahead = f"{leader} is {times(order.lead)} as fast by speedup, but {order.figures()}"
    return f"whether {leader} or {other} is faster cannot be told: {ahead}"


def _condition(result: GroupResult) -> tuple[str, str]:
    """Return where it holds, and what that leaves open; two empty texts where there is no condition."""
    if result.condition is None:
        return "", ""
    return " on this busy machine", f"; {_disturbed(result)}, so a quiet machine may differ"


def _disturbed(result: GroupResult) -> str:
    return f"{result.blocks_disturbed} of {plural(result.blocks_measured, 'block')} were disturbed"


def _unevenly_busy(uneven: UnevenLoad, names: Mapping[str, str]) -> str:
    more, less = f"{uneven.more_processors:.2f}", f"{uneven.less_processors:.2f}"
    return (
        f"other programs used {more} processors while {names[uneven.more]} ran and {less} while {names[uneven.less]}"
        f" ran, so rows did not run under the same conditions. Find what runs more beside {names[uneven.more]}"
        " (top lists programs), stop it, and repeat the run"
    )


def _too_busy(result: GroupResult, context: Context) -> str:
    processors = ", use idle processors with --cpus" if context.has_idle_processors else ""
    remedy = f"Close other programs (top lists them){processors}, and repeat the run"
    return f"the machine was too busy, {_disturbed(result)}{_verdicts_of_busy(result)}. {remedy}"


def _verdicts_of_busy(result: GroupResult) -> str:
    """Return why rows may be called faster or slower all the same."""
    if all(cell.speedup is None or cell.speedup.verdict not in ("faster", "slower") for cell in result.cells):
        return ""
    return ", and a difference between rows may be due to that: verdicts are of this run only"


def _ahead(result: GroupResult, lead: Lead | Winner) -> str:
    """Return ``1.14x its nearest rival ort [1.12, 1.16]``, without brackets where there was one launch only."""
    ends = Ends(lead.low, lead.high, is_range=False) if isinstance(lead, Winner) else lead.ends
    value, span = ratio_with_ends(lead.value, ends)
    unit = f" {how}" if (how := compared_how(result)) else ""
    return f"{value}x its nearest rival {row_names(result.cells)[lead.rival]}{unit}{span}{_on_threads(result, lead)}"


def _on_threads(result: GroupResult, lead: Lead | Winner) -> str:
    """Return on how many threads the two run, where that is not the same number."""
    used = {cell.id: cell.all_threads for cell in result.cells}
    own, other = used.get(lead.cell), used.get(lead.rival)
    return "" if None in (own, other) or own == other else f" on {own} threads against {other}"


def _preview(leader: str, rival: str, ahead: str, lead: Lead) -> str:
    if lead.launches == 1:
        return f"{leader} leads, {ahead}, after only one launch"
    if lead.ends is None or lead.ends.low <= 1:
        return (
            f"{leader} and {rival} cannot be distinguished, {ahead}, the range over {plural(lead.launches, 'launch')}"
        )
    return f"{leader} leads, {ahead}, the range over {plural(lead.launches, 'launch')}"


def _adjusted(result: GroupResult) -> str:
    return " (adjusted for multiple comparisons)" if sum(cell.speedup is not None for cell in result.cells) > 1 else ""
