"""Texts of progress messages."""

from __future__ import annotations

from irbench.core.activity import ACTIVITY_TEXTS, Activity, Outlook
from irbench.core.plain_text import plain
from irbench.core.quantities import duration_text, percent, percents_apart, plural, times
from irbench.runner.run_progress import Progress

_WIDEST = 0.5
"""Beyond this half-width an interval says nothing of who is faster, or by how much."""


def activity_text(activity: Activity) -> str:
    """Return what runs now, in a few words."""
    return ACTIVITY_TEXTS[activity.code].format(
        row=activity.row, block=activity.block, clean_blocks=activity.clean_blocks, needed_s=activity.needed_s
    )


def is_lasting(activity: Activity) -> bool:
    """Whether a moment says something that holds from then on, so that its line stays."""
    return activity.code == "over-budget"


def reading_text(model: str) -> str:
    """Return that a graph is read."""
    return f"reading {model}"


def counting_text(model: str) -> str:
    """Return that it is counted what a graph costs."""
    return f"counting what {model} costs"


def outlook_text(outlook: Outlook | None) -> str:
    """Return one line on how the interval that decides narrows; an empty one where nothing is known of it."""
    if outlook is None:
        return ""
    lead = "" if outlook.lead is None else f"{outlook.row} leads, {times(outlook.lead)} its nearest rival"
    where = _what_counts(outlook)
    if outlook.target is None:  # the range of two or three launches says too little of the next ones
        return f"{lead and f'{lead} so far{where}, '}intervals after {outlook.intervals_from} launches of each row"
    known, target = percents_apart(outlook.half_width, outlook.target)
    if outlook.half_width > _WIDEST:
        begun = f"{lead} so far{where}," if lead else f"{outlook.row}:"
        state = f"{begun} the interval is still wider than ±{percent(_WIDEST, 0)}"
    else:
        state = f"{lead or outlook.row} ±{known}{where}"
    if outlook.rows_left == 0:
        return f"{state}: {'decided' if outlook.contradicted_by is None else 'contradictory'}"
    left = f", {plural(outlook.rows_left, 'row')} left" if outlook.rows_left is not None else ""
    return f"{state}, target ±{target}{left}"


def _what_counts(outlook: Outlook) -> str:
    """Return of what a lead is where that is not of all launches' undisturbed blocks, and what contradicts it."""
    where, otherwise = " in undisturbed blocks", "over all blocks"
    if outlook.is_as_loaded:
        where, otherwise = " on this busy machine", "in undisturbed blocks"
    elif outlook.quiet_launches is not None:
        counted, launches = outlook.quiet_launches
        where = f"{where} ({counted} of {launches} launches)"
    elif outlook.contradicted_by is None:
        return ""
    if outlook.contradicted_by is None:
        return where
    row, ratio = outlook.contradicted_by
    return f"{where}, but {row} is {times(ratio)} as fast as {outlook.row} {otherwise}"


def progress_line(progress: Progress) -> str:
    """Return one moment of a run in a line: what runs, for how long, and how the interval narrows."""
    activity, outlook = activity_text(progress.activity), outlook_text(progress.outlook)
    at_most = at_most_text(progress)
    doing = "done" if progress.interim is not None else f"{at_most.lstrip()} · {activity} ·".lstrip(" ·")
    said = f"{progress.table}: {progress.counted} {progress.launch} {doing} after {progress.elapsed_s:.0f} s"
    said += f", {remaining}" if (remaining := remaining_text(progress)) else ""
    return plain(f"{said} · {outlook}" if outlook else said)


def remaining_text(progress: Progress) -> str:
    """Return how long the command still takes; empty where that is not known."""
    return "" if progress.remaining_s is None else f"about {duration_text(progress.remaining_s)} left"


def at_most_text(progress: Progress) -> str:
    """Return how many launches there are at most; empty where that is open."""
    return "" if progress.most_launches is None else f" of at most {progress.most_launches}"
