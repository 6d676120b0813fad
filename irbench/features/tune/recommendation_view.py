"""What a search recommends, whether that is confirmed, and what would confirm it, in words."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from irbench.core.quantities import listing
from irbench.features.tune.report import (
    KIND_TEXTS,
    RESERVATION_TEXTS,
    TUNING_TEXTS,
    Alternative,
    Gain,
    ReservationReason,
    TuningReport,
    budget_text,
)
from irbench.render.figures import ratio_with_ends
from irbench.store.folders import results_option

_OF_LEADER = ("preview", "undecided", "doubtful")


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
    """Whether a row of the confirmation is what is recommended."""
    return report.setting is not None and report.setting.row == row


def gain_text(gain: Gain, *, marks_ranges: bool = False) -> str:
    """Return ``9.02x [7.12, 11.74]``, without brackets where a single launch gives no range.

    Args:
        gain: How far ahead.
        marks_ranges: Whether a range over few launches is called one, as in a column of intervals.
    """
    value, ends = ratio_with_ends(gain.value, gain.ends, marks_ranges=marks_ranges)
    return f"{value}x{ends}{' preview' if gain.is_preview else ''}"


def _reason(report: TuningReport) -> str:
    gains = [_reference_gain(other, other.gain) for other in report.alternatives if other.kind and other.gain]
    leads = report.leader is not None and is_recommended(report, report.leader.row)
    is_setting = leads and report.conclusion in _OF_LEADER
    return TUNING_TEXTS["better" if is_setting else report.conclusion].format(
        gains=listing(gains) if gains else "",
        leader="" if report.leader is None else report.leader.label,
        run=f"{report.confirmation_run or report.search_run}{results_option(report.results)}",
    )


def _reference_gain(other: Alternative, gain: Gain) -> str:
    kind = KIND_TEXTS[other.kind] if other.kind is not None else other.setting.label
    preview = " (preview)" if gain.is_preview else ""
    return f"{gain_text(replace(gain, is_preview=False))} {kind} of {other.setting.backend}{preview}"


def _reservations(report: TuningReport) -> Iterator[str]:
    labels = {other.setting.row: other.setting.label for other in report.alternatives}
    reasons: dict[ReservationReason, None] = {reservation.reason: None for reservation in report.reservations}
    for reason in reasons:
        rows = [labels.get(each.row, each.row) for each in report.reservations if each.reason == reason]
        yield RESERVATION_TEXTS[reason].format(rows=listing(rows))


def _remedy(report: TuningReport) -> str:
    if report.deciding_budget_s is not None:
        return f"--budget {budget_text(report.deciding_budget_s)} should be enough to tell."
    if any(reservation.reason == "busy" for reservation in report.reservations):
        return "Measure again while they are idle: a larger --budget does not help."
    if all(reservation.reason == "interval-includes-1" for reservation in report.reservations):
        return "The difference is so small that a larger --budget would hardly help."
    return f"irbench show {report.confirmation_run}{results_option(report.results)} says more."
