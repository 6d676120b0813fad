"""The words of a search for the smallest graph that shows a difference, for the terminal."""

from __future__ import annotations

import math
import shlex
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from irbench import __version__
from irbench.core.graph_record import UNCUTTABLE_TEXTS, Uncuttable
from irbench.core.quantities import NOT_MEASURED, error_size, plural, significant
from irbench.core.row import Speedup
from irbench.features.reduce.report import (
    BackendFacts,
    Conclusion,
    Criterion,
    ExpectedDifference,
    GraphEvidence,
    KeptNode,
    ReducedGraph,
    ReductionReport,
    TriedPart,
    Verdict,
)
from irbench.features.reduce.reproduction import EXPECTED_FILE, INPUTS_FILE, MODEL_FILE, REPORT_FILE
from irbench.features.reduce.search_facts import (
    BudgetTooShort,
    Confirming,
    SearchBegun,
    SearchContinued,
    SearchFact,
    SearchInterrupted,
    WholeExtended,
    WholeTried,
)
from irbench.render.figure_texts import are_ranges, as_fast_text, ends_heading, speedup_cell
from irbench.render.table import ListingTable, Row, TableColumn, TextTable
from irbench.render.table_title import SEPARATOR
from irbench.render.text_formats import bullets, code_block, heading, markdown_text
from irbench.render.views import CodeBlock, Document
from irbench.spec import Timing, shape_text
from irbench.store.folders import results_option
from irbench.system.installation import elsewhere_command

CRITERION_TEXTS: Mapping[Criterion, str] = {
    "slower": "{backend} is slower than {than} by {factor:g}x",
    "wrong": "{backend} gives wrong outputs",
    "failing": "{backend} fails",
}
VERDICT_TEXTS: Mapping[Verdict, str] = {
    "shows": "shows it",
    "absent": "does not show it",
    "small": "loses too little of the time",
    "undecided": "undecided",
    "other": "could not be tested",
}
CONFIRMATION_TEXTS: Mapping[Verdict, str] = {
    **VERDICT_TEXTS,
    "undecided": "was not decided: a larger --budget may help",
}
REDUCTION_TEXTS: Mapping[Conclusion, str] = {
    "reduced": "{kept} of {nodes} {show} that {what}; {minimal}",
    "unconfirmed": "{kept} of {nodes} seemed to show that {what}, and did not when measured again in full",
    "whole": "no smaller part of its {nodes} was found to show that {what}",
    "stopped": "{kept} of {nodes} {show} that {what}; --budget has no time left to try smaller parts",
    "absent": "the whole graph does not show that {what}",
    "undecided": "whether {what} cannot be decided: a larger --budget, a smaller number or a quieter machine may help",
    "interrupted": "interrupted: {kept} of {nodes} show that {what}",
}

_UNKNOWN: Mapping[Verdict, str] = {"undecided": "undecided", "other": "could not be tested"}
"""Verdicts that leave open whether what was left out is needed."""
_STATES = {"ok": "match", "mismatch": "WRONG", "failed": "failed", "not-applicable": "not run"}
_SHORT_CALL_MS = 0.1
"""Calls of a runtime cost some 5 to 30 µs whatever the graph."""
_MOST_OPERATORS = 6
_LONGEST_LIST = 12
_MOST_NODES = 60


def shown_text(evidence: GraphEvidence) -> str:
    """Return what the backends did with a graph; empty where a line cannot tell it."""
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
    """Return the document of a search for the smallest graph."""
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


def _tried_text(candidates: Sequence[TriedPart]) -> str:
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
    speedup = None if report.full is None else report.full.speedup
    if report.conclusion == "undecided" and speedup is not None and speedup.verdict == "preview":
        launches = "too few launches" if speedup.launches is None else plural(speedup.launches, "launch")
        return (
            f"whether {what} is not decided: --budget had time for {launches} of the whole graph, and an interval takes"
            f" {Timing.min_launches}; give a larger --budget"
        )
    reduced = report.reduced
    return REDUCTION_TEXTS[report.conclusion].format(
        kept=0 if reduced is None else len(reduced.nodes),
        nodes=plural(report.nodes, "node"),
        what=what,
        show="may show" if reduced is not None and reduced.confirmation == "undecided" else "show",
        minimal="" if reduced is None else _minimal_text(reduced.without_one_node),
    )


def _minimal_text(without_one_node: Mapping[Verdict, int]) -> str:
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


def _columns(criterion: Criterion, speedups: Sequence[Speedup | None]) -> tuple[TableColumn, ...]:
    common = (
        TableColumn("graph", words=True),
        TableColumn("backend", words=True),
        TableColumn("version", words=True, folds=True, drops=1),
        TableColumn("prec", words=True, drops=2),
        TableColumn("outputs", words=True),
        TableColumn("max err", drops=3),
    )
    if criterion != "slower":
        return common
    heading = ends_heading("speedup", speedups, Timing.confidence)
    return (*common, TableColumn("p50 ms"), TableColumn(heading, words=True))


def _row(
    graph: str, facts: BackendFacts, evidence: GraphEvidence, criterion: Criterion, speedups: Sequence[Speedup | None]
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
    reduced = None if report.reduced is None else report.reduced.evidence
    for graph, evidence in (("whole", report.full), ("reduced", reduced)):
        speedup = None if evidence is None else evidence.speedup
        if speedup is not None and speedup.low is None and speedup.launches is not None:
            ends = "" if speedup.ends is None else ": brackets are the range over them"
            launches = plural(speedup.launches, "launch")
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


def progress_text(fact: SearchFact) -> str:
    """Return in a line what a search has found, or is about to do."""
    match fact:
        case TriedPart():
            return f"{plural(fact.nodes, 'node')}: {_shown_by(fact)}"
        case WholeTried(evidence, verdict):
            shown = shown_text(evidence)
            return f"the whole graph: {VERDICT_TEXTS[verdict]}{shown and f', {shown}'}"
        case SearchBegun(nodes, static):
            fixed = f", {static} of which compute fixed shapes and constants" if static else ""
            return f"searching {plural(nodes, 'node')}{fixed}"
        case SearchContinued(nodes):
            return f"it does not show it any more: searching on from {plural(nodes, 'node')}"
        case Confirming(nodes):
            return f"measuring the smallest part again ({plural(nodes, 'node')}), as the whole graph was"
        case BudgetTooShort(budget_s, least_s, enough_s):
            return (
                f"--budget {budget_s:.0f}s is too short: measuring the whole graph takes at least about"
                f" {least_s:.0f} s; give about --budget {math.ceil(enough_s)}s"
            )
        case WholeExtended(share_s, most_s):
            return (
                f"the whole graph is measured for {share_s:.0f} s, or for up to {most_s:.0f} s where it has too few"
                " launches for an interval by then"
            )
        case SearchInterrupted():
            return "interrupted"


def _shown_by(candidate: TriedPart) -> str:
    shown = "" if candidate.evidence is None else shown_text(candidate.evidence)
    if candidate.uncuttable is not None:
        shown = uncuttable_text(candidate.uncuttable)
    elif candidate.failure is not None:
        shown = candidate.failure.message.rstrip(".")
    return f"{VERDICT_TEXTS[candidate.verdict]}{shown and f', {shown}'}"


def bug_report(report: ReductionReport) -> str:
    """Return a bug report in Markdown: what happens, how to repeat it, the graph, the machine and the versions."""
    return "\n\n".join(_bug_report_parts(report)) + "\n"


def _bug_report_parts(report: ReductionReport) -> Iterator[str]:
    yield heading(_bug_title(report), 1)
    if report.full is not None:
        yield markdown_text(_happens(report))
    yield from (table.as_markdown() for table in evidence_table(report))
    yield from map(markdown_text, doubts_text(report))
    if report.reduced is not None:
        yield "## How to repeat it"
        expected = f" `{EXPECTED_FILE}` has what the reference answers." if report.reduced.has_expected else ""
        install = elsewhere_command(__version__)
        how = f" (`{install}`)" if install else ""
        yield f"In the folder of `{MODEL_FILE}` and `{INPUTS_FILE}`, with irbench{how}:{expected}"
        yield code_block(shlex.join(report.repeat), "sh")
        for backend, program in report.code.items():
            yield markdown_text(f"{backend} without irbench:")
            yield code_block(program, "python")
        yield from _graph(report, report.reduced)
    yield "## Environment"
    yield bullets(_environment(report.environment))
    if report.command:
        yield "Reduced with:"
        yield code_block(shlex.join(report.command), "sh")


def _bug_title(report: ReductionReport) -> str:
    text = difference_text(report.expected)
    if report.reduced is None or report.reduced.confirmation not in ("shows", None):
        return f"{Path(report.model).name}: {conclusion_text(report)}"
    operators = dict.fromkeys(node.op_type for node in report.reduced.nodes)
    shown = ", ".join(list(operators)[:4]) + (", ..." if len(operators) > 4 else "")
    return f"{text} on a graph of {plural(len(report.reduced.nodes), 'node')}: {shown}"


def _happens(report: ReductionReport) -> str:
    assert report.full is not None
    whole = f"On {Path(report.model).name} ({plural(report.nodes, 'node')}): {shown_text(report.full)}."
    if report.reduced is None:
        return whole if report.nodes else f"On {Path(report.model).name}: {shown_text(report.full)}."
    kept = plural(len(report.reduced.nodes), "node")
    return f"{whole} On the reduced graph ({kept}): {shown_text(report.reduced.evidence)}."


def _graph(report: ReductionReport, reduced: ReducedGraph) -> Iterator[str]:
    yield "## The graph"
    yield (
        f"{plural(len(reduced.nodes), 'node')} of {report.nodes}, {reduced.size_bytes:,} bytes. Inputs hold the values"
        " that the whole model computes there; what the nodes read of its shapes and constants is a weight."
    )
    rows = tuple(Row((node.op_type, node.domain or "ai.onnx", node.name)) for node in reduced.nodes[:_MOST_NODES])
    columns = tuple(TableColumn(name, words=True) for name in ("operator", "domain", "node"))
    yield TextTable(columns, rows).as_markdown()
    if len(reduced.nodes) > _MOST_NODES:
        yield f"and {plural(len(reduced.nodes) - _MOST_NODES, 'node')} more"
    roles = {"input": reduced.inputs, "output": reduced.outputs}
    tensors = tuple(
        Row((role, tensor.name, tensor.dtype, shape_text(tensor.shape) or "scalar"))
        for role, role_tensors in roles.items()
        for tensor in role_tensors
    )
    described = tuple(TableColumn(name, words=True) for name in ("", "name", "type", "shape"))
    yield TextTable(described, tensors).as_markdown()


def _environment(environment: Mapping[str, Any]) -> Iterator[str]:
    cpu = environment.get("cpu", {})
    yield f"CPU: {cpu.get('Model name', 'unknown')}, {environment.get('physical_cores_allowed')} cores used"
    if cpu.get("Flags"):
        yield f"CPU flags: {cpu['Flags']}"
    if cpu.get("Hypervisor vendor"):
        yield f"Hypervisor: {cpu['Hypervisor vendor']}"
    memory = environment.get("memory_bytes")
    if memory:
        yield f"Memory: {memory / 1e9:.0f} GB"
    yield f"System: {environment.get('system')} {environment.get('kernel')}, Python {environment.get('python')}"
    if environment.get("confined"):
        yield "Workers: confined (IRBENCH_CONFINE=1)"
    versions = environment.get("distributions", {})
    yield f"Versions: {', '.join(f'{name} {version}' for name, version in sorted(versions.items()) if version)}"
