"""The words of a search for the best setting, for the terminal and as Markdown."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from irbench.core.quantities import NOT_MEASURED, listing, percent, percents_apart, plural, significant, times
from irbench.features.tune.report import (
    Alternative,
    Conclusion,
    Excluded,
    Flip,
    FlipOutcome,
    FrontPoint,
    Gain,
    HeldRate,
    NotMeasured,
    ReferenceKind,
    ReservationReason,
    Side,
    TunedSetting,
    TuningReport,
    Unable,
    budget_text,
    nearest_flip,
)
from irbench.features.tune.search_progress import condition_text
from irbench.render.accuracy_texts import accuracy_text, limit_text, measure_text
from irbench.render.columns.serving import level_text, rate_text
from irbench.render.figure_texts import are_ranges, ends_heading, ends_text, ratio_with_ends
from irbench.render.table import Row, TableColumn, TextTable
from irbench.render.table_title import SEPARATOR
from irbench.render.views import CodeBlock, Document
from irbench.runs.stored_rows import deploy_command
from irbench.spec import AccuracyLimit, Objective, Timing
from irbench.store.folders import results_option

OBJECTIVE_TEXTS: Mapping[Objective, str] = {
    "fps": "frames per second",
    "latency": "latency",
    "cost": "processor time per sample",
}
_SPENT: Mapping[Objective, str] = {"latency": "time", "cost": OBJECTIVE_TEXTS["cost"]}
TUNING_TEXTS: Mapping[Conclusion, str] = {
    "better": "It is {gains}.",
    "same": "No setting is better than {named} by more than --within{lead}.",
    "preview": "There were too few launches to know whether a setting is better than {named}{lead}.",
    "reference": "No setting is significantly better than {named}.",
    "undecided": "No setting is significantly better than {named}{lead}.",
    "doubtful": "No setting is known to be better than {named}{lead}.",
    "unopposed": "There is no default and no vendor's hint to compare it with.",
    "nothing": "No setting can be recommended; irbench show {run} says why.",
    "interrupted": "Interrupted: these are the results until then.",
}
"""What is said of a recommended setting; that of ``better`` also of a setting of the search, which is compared with
defaults and hints, and those of ``same``, ``preview``, ``undecided`` and ``doubtful`` where a default or a hint is
recommended."""
RESERVATION_TEXTS: Mapping[ReservationReason, str] = {
    "few-launches": "there were too few launches for confidence intervals",
    "interval-includes-1": "the confidence interval of the lead over {rows} includes 1",
    "may-be-better": "{rows} may be better than it by more than --within",
    "rates-overlap": "no rate was found that it sustains and {rows} does not",
    "rates-close": "it seems to hold about the same rate as {rows}",
    "busy": "other programs disturbed the measurement",
    "uneven-load": "other programs were busier beside one setting than beside another",
    "all-blocks-disagree": "undisturbed blocks and all blocks disagree on whether the setting is faster than {rows}",
    "throughput-disagrees": "the throughput, which includes slow calls, is below that of {rows}",
    "sustained-disagrees": "where each runs alone, the setting is not faster than {rows}",
    "p50-disagrees": "its p50 is above that of {rows}",
    "preview": "there were too few launches for confidence intervals",
    "same": "the lead over {rows} is within --within",
    "undecided": "it cannot be distinguished from {rows}",
    "unchecked-loss": "no time was left to check the loss of {rows}",
}
KIND_TEXTS: Mapping[ReferenceKind, str] = {"default": "the default", "hint": "the vendor's hint"}
OUTCOME_TEXTS: Mapping[FlipOutcome, str] = {
    "kept": "{setting} stays ahead",
    "flipped": "{rival} wins",
    "same": "no difference that matters",
    "undecided": "undecided",
    "not-measured": "not measured",
}
NOT_MEASURED_TEXTS: Mapping[NotMeasured, str] = {
    "no-time": "not measured: no time was left; use a larger --budget",
    "interrupted": "not measured: interrupted",
    "neighbour-ended": "not measured: {message}",
    "impossible": "not measured: {message}",
    "failed": "not measured: neither setting can be used",
}
_AFTER = 4
"""Columns that say what a setting is stand before that of its accuracy."""
_SETTING = TableColumn("setting", words=True, folds=True, breaks_at="=", longest=17)
_FPS = TableColumn("FPS")
_COLUMNS = (
    _SETTING,
    TableColumn("prec", words=True, drops=4),
    TableColumn("batch"),
    TableColumn("threads", drops=3),
    TableColumn("p50 ms", drops=2),
    replace(_FPS, drops=1),
    TableColumn("what it is", words=True, folds=True),
)
_RATE_COLUMNS = (
    *_COLUMNS[:-3],
    TableColumn("requests/s [passes, fails]", words=True, folds=True),
    _COLUMNS[-1],
)
_FRONT_COLUMNS = (
    _SETTING,
    TableColumn("prec", words=True, drops=1),
    TableColumn("batch"),
    TableColumn("threads"),
    TableColumn("p50 ms"),
    _FPS,
    TableColumn("measured", words=True),
)
_CLOSE = "No setting is known to be better than {named} by more than --within{lead}."
_OF_SETTING = ("better", "same", "preview", "undecided", "doubtful")
_OF_LEVEL = ("better", "nothing")
_OF_SIZE = ("interval-includes-1", "may-be-better", "rates-close", "same")
_SMALL = 0.1
"""A difference that is surely not above this needs more launches than it is worth."""
_TIMES = 1.5
"""From this ratio on, a figure is so many times another one; below, so many percent more."""
_FLIP_COLUMNS = (
    TableColumn("condition", words=True),
    TableColumn("setting", words=True),
    TableColumn("rival", words=True),
)


def tuning_view(report: TuningReport) -> Document:
    """Return the document of a search: the recommendation, the confirmation, the front, and how to use the setting."""
    return Document(tuple(_parts(report)))


def _parts(report: TuningReport) -> Iterator[str | TextTable | CodeBlock]:
    limit = "" if report.max_latency_ms is None else f"p90 latency at most {report.max_latency_ms:g} ms"
    level = "" if report.level is None else level_text(report.level)
    tried = f"{report.measured} of {plural(report.settings, 'setting')} measured"
    unit, rate = _rate(report)
    time = "time per generation" if report.is_generation else OBJECTIVE_TEXTS["latency"]
    compared = {**OBJECTIVE_TEXTS, "fps": rate, "latency": time}[report.objective]
    title = f"{Path(report.model).name}: {'rate of requests' if report.level else compared}"
    accuracy = "" if report.accuracy_limit is None else limit_text(report.accuracy_limit)
    new_tokens = "" if report.new_tokens is None else plural(report.new_tokens, "new token")
    facts = (title, new_tokens, level, limit, accuracy, tried, f"{report.seconds:.0f} s")
    yield SEPARATOR.join(fact for fact in facts if fact)
    yield from recommendation_texts(report)
    if report.leader is not None:
        settings = (report.leader, *(other.setting for other in report.alternatives))
        yield with_accuracy(_confirmation_table(report, report.leader), settings, report.accuracy_limit)
    yield from accuracy_texts(report)
    yield from flip_map_parts(report.flips)
    if len(report.front) > 1:
        yield f"{time.capitalize()} against {unit}: no measured setting is better in both than one of these."
        front = TextTable(_with_unit(_FRONT_COLUMNS, report), tuple(_point(report, point) for point in report.front))
        yield with_accuracy(front, [point.setting for point in report.front], report.accuracy_limit)
    if report.command:
        yield f"Measure {_named(report)} again:"
        yield CodeBlock(shlex.join(report.command), "sh")
    if report.code and report.can_be_deployed:
        yield f"Write the program below with the graph of {_named(report)}, and a check of both:"
        yield CodeBlock(_deploy_command(report), "sh")
    if report.code:
        yield f"Use {_named(report)}:"
        yield CodeBlock(report.code, "python")
    yield from _runs(report)


def _deploy_command(report: TuningReport) -> str:
    assert report.confirmation_run is not None
    assert report.setting is not None
    return deploy_command(report.confirmation_run, report.setting.row, results_option(report.results))


def _named(report: TuningReport) -> str:
    return "it" if report.setting is None else report.setting.label


def _confirmation_table(report: TuningReport, leader: TunedSetting) -> TextTable:
    gains = [other.gain for other in report.alternatives]
    rows = [_row(report, leader, report.leader_kind, "-")]
    for other in report.alternatives:
        without = "above --max-latency" if other.is_too_slow else other.failure or NOT_MEASURED
        lead = without if other.gain is None else gain_text(other.gain, marks_ranges=not are_ranges(gains))
        rows.append(_row(report, other.setting, other.kind, lead))
    is_of_rates = report.level is not None
    heading = "best ahead" if is_of_rates else ends_heading("best ahead", gains, Timing.confidence)
    columns = _RATE_COLUMNS if is_of_rates else _with_unit(_COLUMNS, report)
    return TextTable((*columns, TableColumn(heading, words=True, least=18)), tuple(rows))


def _rate(report: TuningReport) -> tuple[str, str]:
    if report.is_generation:
        return "tokens/s", "tokens per second"
    return ("samples/s", "samples per second") if report.is_training else (_FPS.heading, OBJECTIVE_TEXTS["fps"])


def _with_unit(columns: Sequence[TableColumn], report: TuningReport) -> tuple[TableColumn, ...]:
    return tuple(
        replace(column, heading=_rate(report)[0]) if column.heading == _FPS.heading else column for column in columns
    )


def _row(report: TuningReport, setting: TunedSetting, kind: ReferenceKind | None, lead: str) -> Row:
    figures = _figures(report, setting.row)
    text = "found" if kind is None else KIND_TEXTS[kind]
    if not is_recommended(report, setting.row):
        return Row((*_facts(setting), *figures, text, lead))
    return Row((*_facts(setting), *figures, f"{text}, recommended", lead), style="bold")


def _figures(report: TuningReport, row: str) -> tuple[str, ...]:
    if report.level is not None:
        return (rate_with_ends(report.held.get(row)),)
    figures = report.figures.get(row)
    if figures is None:
        return NOT_MEASURED, NOT_MEASURED
    return significant(figures.latency_ms), significant(report.throughput(figures.fps))


def rate_with_ends(rate: HeldRate | None) -> str:
    """Return the rate that a setting seems to hold, with the highest that passes and the lowest that fails."""
    if rate is None:
        return NOT_MEASURED
    ends = ", ".join(NOT_MEASURED if end is None else rate_text(end) for end in (rate.passes_per_s, rate.fails_per_s))
    return f"{'none' if rate.per_s is None else rate_text(rate.per_s)} [{ends}]"


def _point(report: TuningReport, point: FrontPoint) -> Row:
    measured = "in full" if point.is_confirmed else "in the search"
    figures = significant(point.latency_ms), significant(report.throughput(point.fps))
    return Row((*_facts(point.setting), *figures, measured))


def _facts(setting: TunedSetting) -> tuple[str, str, str, str]:
    label = setting.label.partition(" batch ")[0]
    return label, setting.precision, str(setting.batch), str(setting.threads or "native")


def _runs(report: TuningReport) -> Iterator[str]:
    for title, run in (("Search", report.search_run), ("Confirmation", report.confirmation_run)):
        if run is not None:
            yield f"{title}: irbench show {run}{results_option(report.results)}"


def with_accuracy(table: TextTable, settings: Sequence[TunedSetting], limit: AccuracyLimit | None) -> TextTable:
    """Return a table of settings with a column for their accuracy; as it is without a limit."""
    if limit is None:
        return table
    column = TableColumn("agreement" if not limit.function else limit.function.rpartition(":")[2])
    rows = zip(table.rows, settings, strict=True)
    return replace(
        table,
        columns=(*table.columns[:_AFTER], column, *table.columns[_AFTER:]),
        rows=tuple(
            replace(row, cells=(*row.cells[:_AFTER], _value(setting, limit), *row.cells[_AFTER:]))
            for row, setting in rows
        ),
    )


def accuracy_texts(report: TuningReport) -> Iterator[str]:
    """Yield what must be said of accuracy below the table of the confirmation; nothing without a limit."""
    limit = report.accuracy_limit
    if limit is None:
        return
    if report.excluded is not None and report.excluded.settings:
        yield _excluded(report.excluded, limit)
    if any(setting.misses_tolerance for setting in _shown(report)):
        yield "* off by more than the tolerance of its precision; the limit replaces it."
    if report.random_inputs:
        samples = plural(report.random_inputs, "random input")
        yield f"{measure_text(limit)} on {samples} says little about real ones: use --data."


def _shown(report: TuningReport) -> Iterator[TunedSetting]:
    if report.leader is not None:
        yield report.leader
    yield from (other.setting for other in report.alternatives)
    yield from (point.setting for point in report.front)


def _value(setting: TunedSetting, limit: AccuracyLimit) -> str:
    mark = "*" if setting.misses_tolerance else ""
    return NOT_MEASURED if setting.accuracy is None else f"{accuracy_text(setting.accuracy, limit)}{mark}"


def _excluded(excluded: Excluded, limit: AccuracyLimit) -> str:
    counted = f"{plural(excluded.settings, 'setting')} of {plural(excluded.combinations, 'combination')}"
    text = f"Not searched: {counted} that miss {limit_text(limit)}"
    if excluded.failed:
        text += f" ({excluded.failed} of them failed)"
    best = excluded.best
    if best is None or best.accuracy is None:
        return f"{text}."
    graph = "" if best.optimize == "none" else f"+{best.optimize}"
    options = "".join(f" {key}={value}" for key, value in best.options.items())
    name = f"{best.backend}{graph} {best.precision}{options}"
    return f"{text}; the best of them is {name} with {accuracy_text(best.accuracy, limit)}."


def recommendation_texts(report: TuningReport) -> Iterator[str]:
    """Yield what is recommended, what it gains, what keeps that from being confirmed, and what would confirm it."""
    if report.setting is not None:
        until = "" if report.is_confirmed else " (until confirmed)"
        yield f"Recommended{until}: {report.setting.label}"
    yield _reason(report)
    if report.reservations:
        yield f"Not confirmed: {listing(_reservations(report))}. {_remedy(report)}"
    yield from (note.text() for note in report.notes)


def is_recommended(report: TuningReport, row: str) -> bool:
    """Whether a row of the confirmation is the recommended one."""
    return report.setting is not None and report.setting.row == row


def gain_text(gain: Gain, *, marks_ranges: bool = False) -> str:
    """Return ``9.02x [7.12, 11.74]``, without brackets where a single launch gives no range.

    A range over few launches is marked as one unless the column says so.
    """
    value, ends = ratio_with_ends(gain.value, gain.ends, marks_ranges=marks_ranges)
    return f"{value}x{ends}{' preview' if gain.is_preview else ''}"


def _reason(report: TuningReport) -> str:
    setting, leader = report.setting, report.leader
    kind = _kind_of(report)
    is_setting = kind is None and report.conclusion in _OF_SETTING
    is_other = setting is not None and leader is not None and setting.row != leader.row
    close = any(each.reason == "same" for each in report.reservations)
    if report.level is not None and (is_setting or report.conclusion in _OF_LEVEL):
        reason = _level_reason(report)
    else:
        reason = (TUNING_TEXTS["better" if is_setting else report.conclusion] if not close else _CLOSE).format(
            gains=listing(_reference_gains(report)),
            named="it" if setting is None or kind is None else _kind_name(kind, setting),
            lead=f": {_lead(report)}" if is_other else "",
            run=f"{report.confirmation_run or report.search_run}{results_option(report.results)}",
        )
    if kind is None and is_other:
        gain = _gain_of_leader(report)
        if gain is not None and (gain.low or 0.0) > 1:
            better = "known to be better by more than --within"
        else:
            known = report.conclusion in ("preview", "doubtful")
            better = "known to be better" if known else "significantly better"
        return f"{reason} No setting is {better}: {_lead(report)}."
    return f"{reason}{_lower_latency(report)}" if is_setting else reason


def _kind_of(report: TuningReport) -> ReferenceKind | None:
    """Return what the recommended setting is for, where it is a reference."""
    for other in report.alternatives:
        if _is_of(report.setting, other):
            return other.kind
    return report.leader_kind


def _is_of(setting: TunedSetting | None, other: Alternative) -> bool:
    return setting is not None and setting.row == other.setting.row


def _reference_gains(report: TuningReport) -> Iterator[str]:
    """Yield how many times as good as each reference the recommended setting is, and the leader without one."""
    for other in report.alternatives:
        gain = other.recommended_gain or other.gain
        if other.kind is not None and gain is not None:
            yield _reference_gain(other, gain)
    own = _gain_of_leader(report)
    if report.leader is not None and report.leader_kind is not None and own is not None:
        yield _reference_gain(Alternative(report.leader, report.leader_kind), own.inverse)


def _gain_of_leader(report: TuningReport) -> Gain | None:
    """Return how many times as good as the recommended row the leader is; ``None`` where it is that row."""
    return next((other.gain for other in report.alternatives if _is_of(report.setting, other)), None)


def _lead(report: TuningReport) -> str:
    """Return by how much the leader is ahead of the recommended setting, and why that is not recommended.

    ``openvino x4 had 6.3 % more FPS [-2.1 %, 14.0 %], and its latency is 3.9 times as long (129 ms p50, not 33.0 ms)``.
    """
    assert report.leader is not None
    assert report.setting is not None
    gain = _gain_of_leader(report)
    if gain is None:
        return f"{report.leader.label} was not compared with it"
    is_rate = report.objective == "fps" or report.level is not None
    unit = "requests/s" if report.level is not None else _rate(report)[0]
    if is_rate and gain.value >= _TIMES:
        value, ends = ratio_with_ends(gain.value, gain.ends, marks_ranges=True)
        return f"{report.leader.label} had {value}x the {unit}{ends}, and {_cost(report)}"
    had = f"had {{}} more {unit}" if is_rate else f"took {{}} less {_SPENT[report.objective]}"

    def share(ratio: float) -> str:
        part = ratio - 1 if is_rate else 1 - 1 / ratio
        return f"{'-' if part < 0 else ''}{percents_apart(abs(part), 0.0)[0]}"

    ends = ends_text(gain.ends, share, marks_ranges=True)
    return f"{report.leader.label} {had.format(share(gain.value))}{ends}, and {_cost(report)}"


def _cost(report: TuningReport) -> str:
    """Return what the leader costs more than the recommended setting."""
    assert report.leader is not None
    assert report.setting is not None
    own, other = report.figures.get(report.setting.row), report.figures.get(report.leader.row)
    if report.preferred_by != "latency" or own is None or other is None:
        kind = _kind_of(report)
        return f"{report.setting.label if kind is None else KIND_TEXTS[kind]} is simpler"
    ratio = other.latency_ms / own.latency_ms
    longer = f"{ratio:.1f} times as long" if ratio >= _TIMES else f"{percent(ratio - 1)} longer"
    return f"its latency is {longer} ({significant(other.latency_ms)} ms p50, not {significant(own.latency_ms)} ms)"


def _lower_latency(report: TuningReport) -> str:
    """Return which defaults and hints may be as good, but have a higher latency; empty without any."""
    figures = report.figures
    own = None if report.setting is None else figures.get(report.setting.row)
    matters = report.objective != "latency" and not report.is_training
    if own is None or not matters or report.conclusion not in ("same", "undecided", "doubtful"):
        return ""
    later = [
        f"{significant(figures[other.setting.row].latency_ms)} ms with {_reference(other)}"
        for other in report.alternatives
        if other.kind is not None
        and other.gain is not None
        and (other.gain.low or 0.0) <= 1
        and figures[other.setting.row].latency_ms > (1 + Timing.within) * own.latency_ms
    ]
    return f" Its latency is {significant(own.latency_ms)} ms p50, not {listing(later)}." if later else ""


def _level_reason(report: TuningReport) -> str:
    level = "" if report.level is None else level_text(report.level)
    if report.setting is None:
        run = f"{report.confirmation_run}{results_option(report.results)}"
        return f"No setting keeps {level} at any rate that was tried; irbench show {run} says more."
    rate = report.held.get(report.setting.row)
    gains = tuple(_reference_gains(report))
    ahead = f": {listing(gains)}" if gains else ""
    without = [_reference(other) for other in report.alternatives if other.kind and _holds_none(report, other)]
    none = f"; {listing(without)} at no rate that was tried" if without else ""
    return f"It keeps {level} at {rate_with_ends(rate)} requests/s{ahead}{none}."


def _holds_none(report: TuningReport, other: Alternative) -> bool:
    rate = report.held.get(other.setting.row)
    return rate is not None and rate.per_s is None


def _reference(other: Alternative) -> str:
    return other.setting.label if other.kind is None else _kind_name(other.kind, other.setting)


def _kind_name(kind: ReferenceKind, setting: TunedSetting) -> str:
    return f"{KIND_TEXTS[kind]} of {setting.backend}"


def _reference_gain(other: Alternative, gain: Gain) -> str:
    preview = " (preview)" if gain.is_preview else ""
    return f"{gain_text(replace(gain, is_preview=False))} {_reference(other)}{preview}"


def _reservations(report: TuningReport) -> Iterator[str]:
    settings = (report.leader, *(other.setting for other in report.alternatives))
    labels = {setting.row: setting.label for setting in settings if setting is not None}
    reasons: dict[ReservationReason, None] = {reservation.reason: None for reservation in report.reservations}
    for reason in reasons:
        rows = [labels.get(each.row, each.row) for each in report.reservations if each.reason == reason]
        yield RESERVATION_TEXTS[reason].format(rows=listing(rows))


def _remedy(report: TuningReport) -> str:
    if report.deciding_budget_s is not None:
        return f"--budget {budget_text(report.deciding_budget_s)} should be enough to tell."
    if any(reservation.reason == "busy" for reservation in report.reservations):
        return "More launches will not help while other programs run; irbench doctor lists them."
    if all(reservation.reason in _OF_SIZE for reservation in report.reservations):
        return _size_remedy(report)
    return f"irbench show {report.confirmation_run}{results_option(report.results)} says more."


def _size_remedy(report: TuningReport) -> str:
    """Return that more launches would not help since the difference is small, or that it is unknown."""
    rows = {reservation.row for reservation in report.reservations}
    gains = {other.setting.row: other.recommended_gain or other.gain for other in report.alternatives}
    own = _gain_of_leader(report)
    if report.leader is not None and own is not None:
        gains[report.leader.row] = own.inverse
    ends = [gain.ends for row, gain in gains.items() if row in rows and gain is not None]
    known = [end for end in ends if end is not None and end.low > 0]
    if len(known) == len(rows):
        low, high = min(end.low for end in known), max(end.high for end in known)
        most = max(high, 1 / low) - 1
        if most <= _SMALL:
            return f"The difference is at most {percent(most)}: more launches would hardly help."
        span = f": anything from {times(low)} to {times(high)}"
    else:
        span = ""
    shown = f"irbench show {report.confirmation_run}{results_option(report.results)} --warnings"
    return f"The difference is unknown{span}. Launches vary too much for more of them to help; {shown} says why."


def flip_map_parts(flips: Sequence[Flip]) -> Iterator[str | TextTable]:
    """Yield the sentence that names the nearest flip, and the table of all conditions."""
    if flips:
        yield f"Flip map: {flip_map_sentence(flips)}"
        gains = [flip.gain for flip in flips]
        heading = ends_heading("setting / rival", gains, Timing.confidence)
        columns = (*_FLIP_COLUMNS, TableColumn(heading, words=True), TableColumn("outcome", words=True))
        yield TextTable(columns, tuple(_flip_row(flip, marks_ranges=not are_ranges(gains)) for flip in flips))


def flip_map_sentence(flips: Sequence[Flip]) -> str:
    """Return under which conditions the rival wins, the nearest first, and under which the setting stays ahead."""
    return "; ".join(_clauses(flips))


def _clauses(flips: Sequence[Flip]) -> Iterator[str]:
    nearest = nearest_flip(flips)
    flipped = [flip for flip in flips if flip.outcome == "flipped" and flip is not nearest]
    if nearest is None:
        yield "no flip was found"
    for flip in (nearest, *flipped) if nearest is not None else ():
        yield f"{_name(flip, 'rival')} wins with {condition_text(flip.condition)}{_by(flip)}"
    kept = [flip for flip in flips if flip.outcome == "kept"]
    if kept:
        yield f"{_name(kept[0], 'setting')} stays ahead with {_listed(kept)}"
    for outcome, text in (("same", "no difference that matters with"), ("undecided", "undecided with")):
        matches = [flip for flip in flips if flip.outcome == outcome]
        if matches:
            yield f"{text} {_listed(matches)}"
    doubtful = [flip for flip in flips if flip.is_doubtful]
    if doubtful:
        yield f"something disturbed the tables with {_listed(doubtful)}, and a difference may be due to that"
    unmeasured = [flip for flip in flips if flip.outcome == "not-measured"]
    if unmeasured:
        yield f"not measured with {_listed(unmeasured)}"


def _listed(flips: Sequence[Flip]) -> str:
    return listing(condition_text(flip.condition) for flip in flips)


def _by(flip: Flip) -> str:
    if flip.gain is None or flip.unable:
        return ""
    return f": {gain_text(flip.gain.inverse, marks_ranges=True)}"


def _flip_row(flip: Flip, *, marks_ranges: bool) -> Row:
    compared = NOT_MEASURED if flip.gain is None else gain_text(flip.gain, marks_ranges=marks_ranges)
    style = "bold" if flip.outcome == "flipped" else ""
    return Row(
        (condition_text(flip.condition), flip.setting.label, flip.rival.label, compared, _outcome(flip)), style=style
    )


def _outcome(flip: Flip) -> str:
    if flip.missing is not None:
        text = NOT_MEASURED_TEXTS[flip.missing].format(message=flip.message or "")
    else:
        text = OUTCOME_TEXTS[flip.outcome].format(setting=_name(flip, "setting"), rival=_name(flip, "rival"))
    text = f"{text} (doubtful)" if flip.is_doubtful else text
    return ": ".join((text, *(_obstacle(flip, unable) for unable in flip.unable)))


def _obstacle(flip: Flip, unable: Unable) -> str:
    name = _name(flip, unable.side)
    if unable.reason == "too-slow":
        return f"{name} is above --max-latency"
    return f"{name} cannot run" if unable.message is None else f"{name} cannot run ({unable.message})"


def _name(flip: Flip, side: Side) -> str:
    """Return the backend of a setting, or its label where both have the same backend."""
    chosen = flip.setting if side == "setting" else flip.rival
    return chosen.label if flip.setting.backend == flip.rival.backend else chosen.backend
