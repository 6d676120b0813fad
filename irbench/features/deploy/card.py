"""The README.md of a folder: what was measured, how fast and how accurate it was, where, and how to repeat it."""

from __future__ import annotations

from collections.abc import Iterator

from irbench.core.plain_text import plain
from irbench.core.quantities import plural, significant
from irbench.core.row import Spans
from irbench.render.accuracy_texts import accuracy_text, measure_text
from irbench.render.speed_table import context_of, headline
from irbench.render.table_title import command_text, machine_text, title, versions
from irbench.runs.stored_rows import PlannedRow, StoredRow, settings_texts

_FILES = {
    "infer.py": "runs the model with the settings that were measured; `python infer.py` tries it on zeros",
    "check.py": "compares its outputs and its speed with what was measured: exit code 0 where both agree",
    "requirements.txt": "versions that were measured: `pip install -r requirements.txt`",
    "check/": "inputs, expected outputs, and what was measured",
}


def card(stored: StoredRow, planned: PlannedRow, reference: str) -> str:
    """Return the card of a row as Markdown.

    Args:
        stored: What was measured.
        planned: Its settings.
        reference: Where the expected outputs come from; empty where there are none.
    """
    return "\n".join(map(plain, _lines(stored, planned, reference))) + "\n"


def _lines(stored: StoredRow, planned: PlannedRow, reference: str) -> Iterator[str]:
    document, table = stored.document, stored.table
    yield f"# {stored.model}: {stored.name}"
    yield ""
    yield " ".join(settings_texts(planned.cell, stored.row))
    yield ""
    yield "## What was measured"
    yield ""
    yield f"- {title(table, document.environment, document.plan)}"
    context = context_of(table, document.environment, document.plan)
    if said := headline(table, context):
        yield f"- {said}."
    yield from (f"- {text}" for text in _figures(stored))
    yield from (f"- {text}" for text in _accuracy(stored, reference))
    yield f"- On {machine_text(document) or 'an unknown machine'}, {document.created}."
    yield f"- Run {document.run_id}, irbench {document.irbench_version}."
    yield f"- {', '.join(f'{name} {version}' for name, version in versions(document).items())}."
    yield ""
    yield "## Repeat the measurement"
    yield ""
    again = (f"irbench plan from {document.run_id} -o again.toml", "irbench sweep again.toml")  # of a run of Python
    yield from (f"    {command}" for command in ((command_text(document),) if command_text(document) else again))
    yield ""
    yield "## Files"
    yield ""
    graph = stored.row.graph_files
    digest = "" if graph is None else f" (SHA-256 `{graph.sha256}` before shapes were bound)"
    yield f"- `model/`: the graph that was measured{digest}"
    yield from (f"- `{name}`: {text}" for name, text in _FILES.items())
    yield ""
    yield "## Use it"
    yield ""
    yield "```python"
    yield "import infer"
    yield ""
    yield "model = infer.open_model()"
    if planned.cell.load.concurrency > 1:
        yield "outputs = infer.run_all(model, [inputs] * 8)  # inputs: arrays by the names in infer.INPUTS"
    else:
        yield "caller = infer.Caller(model)"
        yield "outputs = infer.call(caller, inputs)  # inputs: arrays by the names in infer.INPUTS"
    yield "```"


def _figures(stored: StoredRow) -> Iterator[str]:
    row, table = stored.row, stored.table
    assert row.latency_ms is not None
    launches = plural(row.launches_measured or table.launches, "launch")
    confidence = stored.document.plan.confidence
    interval = _interval(row.p50_over_launches, confidence)
    yield f"Latency: {significant(row.latency_ms.p50)} ms per call (p50){interval}, over {launches}."
    if row.generation is not None:
        yield f"Throughput: {significant(row.generation.tokens_per_s.value)} tokens/s."
    elif row.fps is not None:
        yield f"Throughput: {significant(row.fps)} samples/s{_interval(row.fps_over_launches, confidence)}."


def _interval(spans: Spans | None, confidence: float) -> str:
    ends = None if spans is None else spans.ends
    if ends is None:
        return ""
    kind = "range over launches" if ends.is_range else f"{100 * confidence:.0f} % confidence interval"
    return f", {kind} {significant(ends.low)} to {significant(ends.high)}"


def _accuracy(stored: StoredRow, reference: str) -> Iterator[str]:
    row = stored.row
    if row.output_error is not None:
        of = f" compared with {reference}" if reference else ""
        yield f"Outputs{of}: largest relative error {row.output_error.max_rel:.2g}."
    else:
        yield "Outputs were not verified."
    if row.accuracy is not None:
        limit = row.accuracy.limit
        samples = plural(row.accuracy.samples, "sample")
        yield f"Accuracy: {measure_text(limit)} {accuracy_text(row.accuracy.value, limit)} on {samples}."
