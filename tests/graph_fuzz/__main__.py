"""Run the fuzzer of the optimiser: ``python -m tests.graph_fuzz --count 1000 --seed 1``."""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from pathlib import Path

import click

from .fuzzing import Breadth, Tally, in_processes, silence
from .routes import FAILURES

_KINDS = ("equal", "unchanged", "refused", *FAILURES)


def report(tally: Tally) -> str:
    """Return Markdown tables: graphs by kind, outcomes by step, and findings by cause."""
    rows = ["| graphs | number | changed by a pass | harmed |", "|---|---|---|---|"]
    kinds = sorted(tally.graphs)
    rows += [f"| {kind} | {tally.graphs[kind]} | {tally.changed[kind]} | {tally.failed[kind]} |" for kind in kinds]
    rows += ["", f"| step | {' | '.join(_KINDS)} |", "|---" * (len(_KINDS) + 1) + "|"]
    for step in sorted({step for step, _ in tally.steps}):
        rows.append(f"| {step} | {' | '.join(str(tally.steps[step, kind]) for kind in _KINDS)} |")
    total = Counter(
        {kind: sum(tally.steps[step, other] for step, other in tally.steps if other == kind) for kind in _KINDS}
    )
    rows.append(f"| all | {' | '.join(str(total[kind]) for kind in _KINDS)} |")
    rows += ["", "| cause | findings |", "|---|---|"]
    rows += [f"| {cause} | {count} |" for cause, count in tally.causes.most_common()]
    return "\n".join(rows)


def main() -> int:
    """Fuzz, print the report, keep the findings; 1 where there are any."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=1000, help="number of graphs (default: %(default)s)")
    parser.add_argument("--seed", type=int, default=0, help="of all that is random (default: %(default)s)")
    parser.add_argument("--first", type=int, default=0, help="number of the first graph (default: %(default)s)")
    parser.add_argument("--processes", type=int, default=1, help="how many run at once (default: %(default)s)")
    parser.add_argument(
        "--thorough", action="store_true", help="try every precision, each pass alone, and OpenVINO always"
    )
    parser.add_argument("--keep", type=Path, help="folder where findings are kept, shrunk")
    arguments = parser.parse_args()
    silence()
    breadth: Breadth = "thorough" if arguments.thorough else "usual"
    tally = Tally()
    numbers = range(arguments.first, arguments.first + arguments.count)
    for made, answer in in_processes(numbers, arguments.seed, arguments.processes, breadth):
        if isinstance(answer, str):
            tally.graphs["ended the process"] += 1
            click.echo(f"{made.name} of seed {arguments.seed}: {answer}", err=True)
            if arguments.keep is not None:
                arguments.keep.mkdir(parents=True, exist_ok=True)
                (arguments.keep / f"process-{made.name}.onnx").write_bytes(made.content)
            continue
        before = len(tally.findings)
        tally.add(made, answer)  # type: ignore[arg-type]
        for finding in tally.findings[before:]:
            click.echo(f"{made.name} of seed {arguments.seed}: {finding.route.name}: {finding.key}", err=True)
            if arguments.keep is not None:
                finding.keep(arguments.keep)
    click.echo(report(tally))
    return int(bool(tally.causes) or tally.graphs["ended the process"] > 0)


if __name__ == "__main__":
    sys.exit(main())
