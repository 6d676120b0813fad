"""The words of a search for the smallest graph that shows a difference, for the terminal."""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from irbench.core.graph_record import UNCUTTABLE_TEXTS, Uncuttable
from irbench.core.quantities import NOT_MEASURED, error_size, plural, significant
from irbench.core.row import Speedup
from irbench.features.reduce.files import EXPECTED_FILE, INPUTS_FILE, MODEL_FILE, REPORT_FILE
from irbench.features.reduce.report import (
    CONFIRMATION_TEXTS,
    CRITERION_TEXTS,
    REDUCTION_TEXTS,
    BackendFacts,
    Candidate,
    Criterion,
    Evidence,
    ExpectedDifference,
    KeptNode,
    ReductionReport,
    Verdict,
)
from irbench.features.reduce.schedule import CONFIRMATION
from irbench.render.figures import are_ranges, as_fast_text, ends_heading, speedup_cell
from irbench.render.table import Column, ListingTable, Row, TextTable
from irbench.render.table_title import SEPARATOR
from irbench.render.text_document import CodeBlock, Document
from irbench.spec import Timing
from irbench.store.folders import results_option

_UNKNOWN: Mapping[Verdict, str] = {"undecided": "undecided", "other": "could not be tested"}
"""Verdicts that leave open whether what was left out is needed."""
_STATES = {"ok": "match", "mismatch": "WRONG", "failed": "failed", "not-applicable": "not run"}
_SHORT_CALL_MS = 0.1
"""Calls of a runtime cost some 5 to 30 µs whatever the graph."""
_MOST_OPERATORS = 6
_LONGEST_LIST = 12


def shown_text(evidence: Evidence) -> str:
    """Return what the backends did with a graph; empty where that cannot be told in a line."""
    first, *rest = evidence.backends
    if evidence.speedup is not None and rest:
        return as_fast_text(rest[0].label, first.label, evidence.speedup)
    failure = next((facts.failure for facts in evidence.backends if facts.failure is not None), None)
    if failure is not None:
        return failure.message.rstrip(".")
    if first.output_error is not None:
        return f"{first.label} matches, max err {error_size(first.output_error.max_rel)}"
    return ""


def difference_text(expected: ExpectedDifference) -> str:
    """Return what was expected, as a clause."""
    return CRITERION_TEXTS[expected.criterion].format(
        backend=expected.backend, than=expected.than, factor=expected.factor
    )


def reduction_view(report: ReductionReport) -> Document:
    """Return what was found, what the backends do with the whole and with the smallest graph, and where that is."""
    return Document(tuple(_parts(report)))


def _parts(report: ReductionReport) -> Iterator[str | ListingTable | CodeBlock]:
    size = plural(report.nodes, "node") if report.nodes else ""
    tried = _tried_text(report.candidates)
    facts = (Path(report.model).name, size, tried, f"{report.seconds:.0f} s")
    yield SEPARATOR.join(fact for fact in facts if fact)
    yield conclusion_text(report)
    yield from evidence_table(report)
    if report.reduced is not None:
        yield f"The reduced graph: {nodes_text(report.reduced.nodes)}"
    yield from doubts_text(report)
    if report.folder is not None:
        yield f"Written to {report.folder}: {', '.join(_files(report))}. Repeat it there:"
        yield CodeBlock(shlex.join(report.repeat), "sh")
    yield from _runs(report)


def _files(report: ReductionReport) -> tuple[str, ...]:
    has_expected = report.reduced is not None and report.reduced.has_expected
    return (MODEL_FILE, INPUTS_FILE, *((EXPECTED_FILE,) if has_expected else ()), REPORT_FILE)


def _tried_text(candidates: Sequence[Candidate]) -> str:
    if not candidates:
        return ""
    undecided = sum(candidate.verdict == "undecided" for candidate in candidates)
    return f"{plural(len(candidates), 'part')} tried{f', {undecided} of them undecided' if undecided else ''}"


def conclusion_text(report: ReductionReport) -> str:
    """Return what came out, in a sentence without an end."""
    what = difference_text(report.expected)
    if report.conclusion == "interrupted" and report.reduced is None:
        return "interrupted before a smaller graph was found"
    if report.conclusion == "stopped" and report.reduced is None:
        return f"no smaller part was found to show that {what}: --budget has no time left to try more"
    if report.conclusion == "undecided" and _has_no_interval(report.full):
        return f"whether {what} is not decided: {_launches_text(report.full)}; give a larger --budget"
    found = report.reduced
    return REDUCTION_TEXTS[report.conclusion].format(
        kept=0 if found is None else len(found.nodes),
        nodes=plural(report.nodes, "node"),
        what=what,
        show="may show" if found is not None and found.confirmation == "undecided" else "show",
        minimal="" if found is None else _minimal_text(found.without_one_node),
    )


def _has_no_interval(evidence: Evidence | None) -> bool:
    """Whether a measurement ended before there were enough launches for an interval."""
    return evidence is not None and evidence.speedup is not None and evidence.speedup.verdict == "preview"


def _launches_text(evidence: Evidence | None) -> str:
    """Return how many launches of a graph there was time for, and how many an interval takes."""
    found = None if evidence is None else evidence.speedup
    launches = "too few launches" if found is None or found.launches is None else plural(found.launches, "launch")
    return f"--budget had time for {launches} of the whole graph, and an interval takes {CONFIRMATION.min_launches}"


def _minimal_text(without_one_node: Mapping[Verdict, int]) -> str:
    """Return whether the nodes that are left are all needed, as far as that is known."""
    counts = {words: without_one_node.get(verdict, 0) for verdict, words in _UNKNOWN.items()}
    unknown = ", ".join(f"{count} {words}" for words, count in counts.items() if count)
    return f"none of them was shown to be unnecessary ({unknown})" if unknown else "none of them can be left out"


def evidence_table(report: ReductionReport) -> Iterator[ListingTable]:
    """Yield the table of what the backends do with the whole graph, and with the smallest one."""
    graphs = [("whole", report.full), ("reduced", report.reduced.evidence if report.reduced is not None else None)]
    shown = [(name, evidence) for name, evidence in graphs if evidence is not None]
    speedups = [evidence.speedup for _, evidence in shown]
    rows = [
        _row(name if facts is evidence.backends[0] else "", facts, evidence, report.expected.criterion, speedups)
        for name, evidence in shown
        for facts in evidence.backends
    ]
    if rows:
        columns = _columns(report.expected.criterion, speedups)
        yield ListingTable(TextTable(columns, tuple(rows)), elsewhere="see --format md")


def _columns(criterion: Criterion, speedups: Sequence[Speedup | None]) -> tuple[Column, ...]:
    common = (
        Column("graph", words=True),
        Column("backend", words=True),
        Column("version", words=True, folds=True, drops=1),
        Column("prec", words=True, drops=2),
        Column("outputs", words=True),
        Column("max err", drops=3),
    )
    if criterion != "slower":
        return common
    heading = ends_heading("speedup", speedups, Timing.confidence)
    return (*common, Column("p50 ms"), Column(heading, words=True))


def _row(
    graph: str, facts: BackendFacts, evidence: Evidence, criterion: Criterion, speedups: Sequence[Speedup | None]
) -> Row:
    cells = (
        graph,
        facts.label,
        f"{facts.distribution} {facts.version}",
        facts.precision or NOT_MEASURED,
        _STATES.get(facts.state, facts.state),
        error_size(None if facts.output_error is None else facts.output_error.max_rel),
    )
    if criterion != "slower":
        return Row(cells)
    is_baseline = facts is evidence.backends[0]
    speedup = speedup_cell(evidence.speedup, is_baseline=is_baseline, marks_ranges=not are_ranges(speedups))
    return Row((*cells, significant(facts.p50_ms), speedup))


def nodes_text(nodes: Sequence[KeptNode]) -> str:
    """Return the nodes of a small graph by name, and of a large one how many there are of each operator."""
    if len(nodes) <= _LONGEST_LIST:
        return ", ".join(f"{node.op_type} ({node.name})" for node in nodes)
    counts = Counter(node.op_type for node in nodes).most_common()
    shown = ", ".join(f"{count} {operator}" for operator, count in counts[:_MOST_OPERATORS])
    rest = len(counts) - _MOST_OPERATORS
    others = f" and {plural(rest, 'other operator')}" if rest > 0 else ""
    return f"{len(nodes)} nodes: {shown}{others}"


def doubts_text(report: ReductionReport) -> Iterator[str]:
    """Yield what speaks against the smallest graph: calls that are too short, or no second time that it showed it."""
    yield from _ranges_text(report)
    slow_ms = None if report.reduced is None else report.reduced.evidence.backends[0].p50_ms
    if slow_ms is not None and slow_ms < _SHORT_CALL_MS:
        yield (
            f"A call of the reduced graph takes {significant(1e3 * slow_ms)} µs: what a call of any graph costs may"
            " make the difference."
        )
    if report.reduced is not None and report.reduced.confirmation not in ("shows", None):
        yield (
            "Measured again as the whole graph was, the reduced graph"
            f" {CONFIRMATION_TEXTS[report.reduced.confirmation]}."
        )
    if report.not_confirmed:
        yield (
            f"{plural(report.not_confirmed, 'other part')} showed it at first, and not when measured as the whole"
            " graph was."
        )


def _ranges_text(report: ReductionReport) -> Iterator[str]:
    """Yield how many launches a graph had whose speedup in the table has no interval."""
    reduced = None if report.reduced is None else report.reduced.evidence
    for graph, evidence in (("whole", report.full), ("reduced", reduced)):
        found = None if evidence is None else evidence.speedup
        if found is not None and found.low is None and found.launches is not None:
            ends = "" if found.ends is None else ": brackets are the range over them"
            launches = plural(found.launches, "launch")
            yield f"The {graph} graph had {launches}, too few for a confidence interval{ends}."


def _runs(report: ReductionReport) -> Iterator[str]:
    reduced = None if report.reduced is None else report.reduced.evidence.run_id
    known = {"whole": None if report.full is None else report.full.run_id, "reduced": reduced}
    for what, run in known.items():
        if run is not None:
            yield f"{what.capitalize()}: irbench show {run}{results_option(report.results)}"


def uncuttable_text(uncuttable: Uncuttable) -> str:
    """Return why a part of a graph cannot stand alone, as a sentence without its stop."""
    return UNCUTTABLE_TEXTS[uncuttable.reason].format(value=uncuttable.value)
