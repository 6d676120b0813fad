"""The report of a profile, derived from its document: a pure function."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from irbench.profiling.cell_summary import CellSummary
from irbench.profiling.class_counters import class_counters
from irbench.profiling.comparison import comparisons
from irbench.profiling.estimates import estimate, looks_at
from irbench.profiling.gpu import gpu_parts
from irbench.profiling.joining import ORIGINAL, JoinedCell, joined_cells
from irbench.profiling.launches import middle_half
from irbench.profiling.losses import largest_losses
from irbench.profiling.matching import MatchedBy
from irbench.profiling.node_groups import node_groups
from irbench.profiling.parts import Grouping, class_rows, node_rows, operator_rows
from irbench.profiling.record import LaunchLatencies, ProfileDocument
from irbench.profiling.report import Excess, HeadlineFacts, ProfileReport
from irbench.stats.intervals import Looks


def derive_report(document: ProfileDocument) -> ProfileReport:
    """Return all figures of a profile.

    Operators are joined with nodes, and counted by class of work, by operator type and by node. The time of an operator
    in a launch is its mean over the inferences that count, as is the latency, so parts add up in each launch; figures
    are medians over launches.
    """
    cells, looks = joined_cells(document), looks_at(document.launches)
    original = document.graphs.get(ORIGINAL, ())
    fused = (operator.original for cell in cells for operator in cell.operators)
    groups = node_groups(fused, [node.name for node in original])
    grouping = Grouping(cells, looks, groups, original, document.peaks)
    classes, nodes = class_rows(grouping), node_rows(grouping)
    summaries = tuple(_summary(cell, looks) for cell in cells)
    found = ProfileReport(
        cells=summaries,
        classes=classes,
        operators=operator_rows(grouping),
        nodes=nodes,
        comparisons=comparisons(grouping, document.compared, classes, nodes),
        counters=class_counters(cells, document.counters),
    )
    return replace(found, headline=tuple(_headline(found, largest_losses(grouping))))


def _summary(joined: JoinedCell, looks: Looks) -> CellSummary:
    cell = joined.cell
    if not cell.launches:
        return CellSummary(cell.id, cell.label, 0, device=cell.device, failure=cell.failure)
    profiled = [_mean(launch.profiled_ns, launch.counted) for launch in cell.launches]
    plain = [_mean(launch.plain_ns, _counted_plain(launch)) for launch in cell.launches]
    between = [all_ - part for all_, part in zip(profiled, joined.sums_ns, strict=True)]
    known = [operator.flops for operator in joined.operators if operator.flops is not None]
    return CellSummary(
        id=cell.id,
        label=cell.label,
        launches=len(cell.launches),
        sum_ns=estimate(joined.sums_ns, looks) if joined.operators else None,
        latency_ns=estimate(profiled, looks),
        between_ns=estimate(between, looks) if joined.operators else None,
        plain_ns=estimate(plain, looks),
        slowdown=estimate([with_ / without for with_, without in zip(profiled, plain, strict=True)], looks),
        flops=sum(known) if known else None,
        matched=_matched(joined),
        device=cell.device,
        uncertainty_ns=max(launch.uncertainty_ns for launch in cell.launches),
        failure=cell.failure,
        gpu=gpu_parts(cell, profiled, looks),
    )


def _counted_plain(launch: LaunchLatencies) -> Sequence[int]:
    """Return the places of the calls without profiling that count: chosen as those with profiling are."""
    is_mean_of_all = len(launch.counted) == len(launch.profiled_ns)
    return range(len(launch.plain_ns)) if is_mean_of_all else [int(place) for place in middle_half(launch.plain_ns)]


def _mean(latencies_ns: Sequence[int], counted: Sequence[int]) -> float:
    return sum(latencies_ns[place] for place in counted) / len(counted)


def _matched(joined: JoinedCell) -> Mapping[MatchedBy, float]:
    times: dict[MatchedBy, int] = {}
    for operator in joined.operators:
        times[operator.matched_by] = times.get(operator.matched_by, 0) + operator.total_ns
    total = sum(times.values())
    return {matched_by: time / total for matched_by, time in times.items()} if total else {}


def _headline(report: ProfileReport, losses: Mapping[str, Excess]) -> Iterator[HeadlineFacts]:
    for cell in report.cells:
        if cell.sum_ns is not None and cell.sum_ns.value > 0:
            own = [row for row in report.classes if cell.id in row.figures]
            largest, *rest = sorted(own, key=lambda row: -row.figures[cell.id].time_ns.value)
            following = rest[0].operator_class if rest else None
            excess = None if cell.is_costly else losses.get(cell.id)
            main = report.main_operators(cell.id, largest.operator_class)
            yield HeadlineFacts(cell.id, largest.operator_class, main, following, excess)
