"""What the simulations came to, as Markdown."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from irbench.spec import Timing
from irbench.stats.intervals import bounds, looks_of
from simulation.anytime import LAUNCHES, misses, worst_case
from simulation.criterion import MUTATIONS, faults
from simulation.designs import DESIGNS, HOSTS, Design, Host
from simulation.markdown import markdown_table
from simulation.methods import IRBENCH, SEQUENTIAL, SIDE_BY_SIDE, STUDENT, Outcome, measure
from simulation.regimes import DEPENDENT, REGIMES
from simulation.wall_time import runs_of

_FIGURES = ("coverage", "A/A", "bias %", "RMSE %")
_AMPLE_S = 900.0
_HALVES = 4
"""How many times as much a backend differs from itself from launch to launch on half of the processors, beside another:
``python -m benchmarks.duet``, docs/adr/0076."""


def regimes(runs: int) -> str:
    """Return what irbench and two usual methods come to in each regime of independent launches."""
    heads = ["regime", *(f"irbench {figure}" for figure in _FIGURES), "launches"]
    heads += [
        *(f"Student {figure}" for figure in _FIGURES),
        "launches",
        *(f"sequential {figure}" for figure in _FIGURES),
    ]
    rows: list[list[str]] = []
    for name, regime in REGIMES.items():
        shipped, student, sequential = (measure(item, regime, runs) for item in (IRBENCH, STUDENT, SEQUENTIAL))
        counted = [[*_figures(item), f"{item.launches:.1f}"] for item in (shipped, student)]
        rows.append([name, *counted[0], *counted[1], *_figures(sequential)])
    return markdown_table(heads, rows)


def dependence(runs: int) -> str:
    """Return what irbench comes to where launches depend on each other, and how often it warns of it."""
    heads = ["dependent launches", *_FIGURES, "launches", "warned"]
    found = [
        (name, measure(IRBENCH, item, runs)) for name, item in {"independent": REGIMES["quiet"], **DEPENDENT}.items()
    ]
    return markdown_table(
        heads, [[name, *_figures(item), f"{item.launches:.1f}", f"{item.warned:.3f}"] for name, item in found]
    )


def side_by_side(runs: int) -> str:
    """Return what is gained where two cells run at the same time, and what is lost where halves of a machine differ."""
    ways = ("by turns", "side by side", "side by side on halves that differ")
    heads = ["regime", *(f"{way}: {figure}" for way in ways for figure in ("coverage", "RMSE %", "launches"))]
    rows: list[list[str]] = []
    for name, regime in REGIMES.items():
        differing = replace(regime, launch_sd=_HALVES * regime.launch_sd)
        asked = ((IRBENCH, regime), (SIDE_BY_SIDE, regime), (SIDE_BY_SIDE, differing))
        found = [measure(method, own, runs) for method, own in asked]
        figures = ((f"{item.coverage:.3f}", f"{100 * item.rmse:.2f}", f"{item.launches:.1f}") for item in found)
        rows.append([name, *(figure for own in figures for figure in own)])
    return markdown_table(heads, rows)


def mutations(runs: int) -> str:
    """Return in which regimes the criterion rejects each broken estimator, and in what it fails there."""
    shipped = {name: measure(IRBENCH, regime, runs) for name, regime in REGIMES.items()}
    rows: list[list[str]] = []
    for mutation, method in {"nothing: as shipped": IRBENCH, **MUTATIONS}.items():
        found = {
            name: list(faults(measure(method, regime, runs), shipped[name], regime)) for name, regime in REGIMES.items()
        }
        rows.append([mutation, *_rejections(found)])
    return markdown_table(["instead of what is right", "is rejected in", "for its"], rows, numbers=False)


def any_time(runs: int) -> str:
    """Return how often some interval of a run misses, wherever it stops, for launches that scatter in many ways."""
    looks, miss = looks_of(Timing()), 1 - Timing().confidence
    early = [str(count) for count, bound in sorted(bounds(looks, round(miss, 12)).items()) if bound.stretch]
    rows = [
        [name, "yes" if scatter.one_mode else "no", f"{found.early:.3f}", f"{found.anywhere:.3f}"]
        for name, scatter in LAUNCHES.items()
        for found in [misses(scatter, looks, round(miss, 12), runs)]
    ]
    worst = worst_case(looks, round(miss, 12))
    rows.append(["the worst there can be", "no", f"{worst.early:.3f}", f"{worst.anywhere:.3f}"])
    return markdown_table(
        ["launches", "assumption holds", f"misses at {' or '.join(early)}", "misses at any look"], rows
    )


def designs(runs: int) -> str:
    """Return when each design names the fastest cell, and when it has decided all rows, on each host."""
    heads = ["design", "named s", "90 %", "in budget", "decided s", "90 %", "in budget", "ended s", "90 %", "launches"]
    heads += ["wrong", "coverage"]
    parts: list[str] = []
    for name, host in HOSTS.items():
        for budget_s, words in ((None, "within the budget"), (_AMPLE_S, "without a limit")):
            rows = [[title, *_design(design, host, runs, budget_s)] for title, design in DESIGNS.items()]
            parts.append(f"{name}, {words}\n\n{markdown_table(heads, rows)}")
    return "\n\n".join(parts)


def _design(design: Design, host: Host, runs: int, budget_s: float | None) -> Iterator[str]:
    found = runs_of(design, host, runs, budget_s)
    for times in ([item.named_s for item in found], [item.decided_s for item in found]):
        yield from _seconds(times)
        yield f"{np.isfinite(times).mean():.2f}"
    yield from _seconds([item.ended_s for item in found])
    yield f"{np.mean([item.launches for item in found]):.1f}"
    yield f"{np.mean([item.wrong for item in found]):.3f}"
    covered = [item.covered for item in found if item.covered is not None]
    yield f"{np.mean(covered):.3f}" if covered else "-"


def _seconds(times: Sequence[float]) -> Iterator[str]:
    for share in (0.5, 0.9):
        at = float(np.quantile(times, share, method="inverted_cdf"))
        yield f"{at:.0f}" if math.isfinite(at) else "-"


def _figures(outcome: Outcome) -> list[str]:
    return [
        f"{outcome.coverage:.3f}",
        f"{outcome.false_positives:.3f}",
        f"{round(100 * outcome.bias, 2) + 0.0:.2f}",
        f"{100 * outcome.rmse:.2f}",
    ]


def _rejections(found: dict[str, list[str]]) -> tuple[str, str]:
    """Return the regimes with a fault, and all faults in the order of the criterion."""
    names = [name for name, reasons in found.items() if reasons]
    reasons = dict.fromkeys(item for name in names for item in found[name])
    where = "every regime" if len(names) == len(found) else "; ".join(names) or "none"
    return where, ", ".join(reasons) or "-"
