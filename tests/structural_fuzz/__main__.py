"""Run the fuzzer of files with hostile values: ``python -m tests.structural_fuzz --count 10000 --seed 1``."""

from __future__ import annotations

import argparse
import random
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

import click

from .cases import KINDS
from .fuzzing import Outcome, laboratory


def outcomes(kinds: Sequence[str], numbers: range, seed: int, keep: Path | None) -> Iterator[Outcome]:
    """Yield what becomes of each case; each has a generator of its own, so that one can be made without the others."""
    with laboratory() as room:
        for number in numbers:
            kind = kinds[number % len(kinds)]
            yield Outcome(kind, number, room.examine(kind, random.Random(f"{seed}/{kind}/{number}"), keep))


def report(found: Sequence[Outcome]) -> str:
    """Return a Markdown table of the cases by kind, and of the findings by cause."""
    rows = ["| kind | cases | broke a rule |", "|---|---|---|"]
    for kind in (*KINDS, "all"):
        of_it = [outcome for outcome in found if kind in ("all", outcome.kind)]
        rows.append(f"| {kind} | {len(of_it)} | {sum(outcome.finding is not None for outcome in of_it)} |")
    causes = Counter(f"{outcome.finding.rule} at {outcome.finding.place}" for outcome in found if outcome.finding)
    rows += ["", "| cause | cases |", "|---|---|"] if causes else []
    return "\n".join(rows + [f"| {cause} | {count} |" for cause, count in causes.most_common()])


def main() -> int:
    """Fuzz, print each finding with a new cause and the report; 1 where there are any."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=1000, help="number of cases (default: %(default)s)")
    parser.add_argument("--seed", type=int, default=0, help="of all that is random (default: %(default)s)")
    parser.add_argument("--first", type=int, default=0, help="number of the first case (default: %(default)s)")
    parser.add_argument("--kinds", default=",".join(KINDS), help="of files, with commas between them")
    parser.add_argument("--keep", type=Path, help="where the first case of each cause is kept")
    arguments = parser.parse_args()
    found: list[Outcome] = []
    causes: set[tuple[str, str]] = set()
    numbers = range(arguments.first, arguments.first + arguments.count)
    for outcome in outcomes(arguments.kinds.split(","), numbers, arguments.seed, arguments.keep):
        found.append(outcome)
        if outcome.finding and (outcome.finding.rule, outcome.finding.place) not in causes:
            causes.add((outcome.finding.rule, outcome.finding.place))
            click.echo(f"{outcome.number} of seed {arguments.seed}: {outcome.finding}", err=True)
    click.echo(report(found))
    return int(bool(causes))


if __name__ == "__main__":
    sys.exit(main())
