"""Everything that ``make bench-truth`` has found so far, as text and as goals."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from benchmarks.ablation_figures import ablation_table
from benchmarks.claims import SHIPPED, Claim
from benchmarks.power_figures import Detection, missed_power, power_table
from benchmarks.steps import Found
from benchmarks.truth_figures import (
    LARGEST_ERROR,
    ThroughputFigures,
    missed_ratios,
    missed_throughputs,
    ratio_figures,
    ratio_table,
    throughput_table,
)
from irbench.render.table import TextTable
from irbench.terminal.console import to_text

KNOWN, REAL, ABLATION, STREAMS, POWER = "known", "real", "ablation", "streams", "power"
PARTS = (KNOWN, REAL, ABLATION, STREAMS, POWER)


class Report:
    """Collects what steps find; what fails is kept with its reason, and costs nothing else.

    Attributes:
        failures: A line for each step that failed.
    """

    def __init__(self, parts: Sequence[str]) -> None:
        self.failures: list[str] = []
        self._parts = parts
        self._claims: list[Claim] = []
        self._throughputs: list[ThroughputFigures] = []
        self._detections: list[Detection] = []

    def take(self, found: Sequence[Found]) -> None:
        """Keep what a step found."""
        for item in found:
            if isinstance(item, Claim):
                self._claims.append(item)
            elif isinstance(item, Detection):
                self._detections.append(item)
            else:
                self._throughputs.append(item)

    def fail(self, words: str, reason: str) -> None:
        """Keep why a step failed."""
        self.failures.append(f"{words}: {reason}")

    def text(self, form: str, *, to_file: bool) -> str:
        """Return every table that has a row, and below them what could not be measured.

        Args:
            form: ``md`` for Markdown; otherwise plain tables.
            to_file: Whether it is for a file, which has no width.
        """
        tables = [table for table in self._tables() if table.rows]
        drawn = [
            table.as_markdown() if form == "md" else to_text(table, to_file=to_file).rstrip("\n") for table in tables
        ]
        return "\n\n".join((*drawn, *("not measured: " + failure for failure in self.failures)))

    def missed(self) -> tuple[str, ...]:
        """Return a sentence for each goal that was missed; an ablation has none."""
        return (
            *missed_ratios(ratio_figures(self._known), LARGEST_ERROR),
            *missed_throughputs(self._throughputs),
            *missed_ratios(ratio_figures(self._real)),
            *missed_power(self._detections),
        )

    @property
    def _known(self) -> list[Claim]:
        return [claim for claim in self._claims if not claim.subject]

    @property
    def _real(self) -> list[Claim]:
        """What real runtimes said in the usual way."""
        shipped = [claim for claim in self._claims if claim.subject and claim.way == SHIPPED]
        return shipped if REAL in self._parts else []

    @property
    def _ablated(self) -> list[Claim]:
        """What every way said of the pairs that all of them measure."""
        return [claim for claim in self._claims if claim.subject and claim.ratio < 2] if ABLATION in self._parts else []

    def _tables(self) -> Iterator[TextTable]:
        yield ratio_table(ratio_figures(self._known))
        yield throughput_table(self._throughputs)
        yield ratio_table(ratio_figures(self._real))
        yield ablation_table(self._ablated)
        yield power_table(self._detections)
