"""A seeded fuzzer of model files: what irbench, and the runtimes behind it, make of broken ones.

    python tests/fuzz.py --count 1000 --seed 0 --keep FOLDER

Equal seeds make equal files. No file may bring irbench itself down; what runtimes do is counted. Files that break
this rule, or kill a process, are kept in the folder given by ``--keep``.
"""

from __future__ import annotations

import argparse
import random
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import click
from front_door import irbench
from fuzz_models import Files, seeds
from fuzz_mutations import mutate
from fuzz_outcomes import BACKENDS, Laboratory, Outcome

_RUNTIME_OUTCOMES = ("right", "not compared", "wrong", "refused", "crashed", "hung")
_FRONT_DOOR_EVERY = 50


@dataclass(frozen=True)
class Case:
    """One broken model.

    Attributes:
        number: Its place in the sequence of its seed.
        model: The name of the model it was made from.
        mutation: What was done to it.
        files: What came out.
    """

    number: int
    model: str
    mutation: str
    files: Files

    @property
    def name(self) -> str:
        """What its folder is called."""
        return f"{self.number:05d}-{self.model}-{self.mutation.replace(' ', '-')}"


@dataclass(frozen=True)
class Finding:
    """What became of a case."""

    case: Case
    outcome: Outcome


def cases(count: int, seed: int) -> Iterator[Case]:
    """Yield ``count`` cases; each has a generator of its own, so that one can be made without the others."""
    known = seeds()
    names = sorted(known)
    for number in range(count):
        chance = random.Random(f"{seed}/{number}")
        name = names[number % len(names)]
        mutation, files = mutate(known[name], [known[item] for item in names], chance)
        yield Case(number, name, mutation, files)


def fuzz(count: int, seed: int, keep: Path | None = None) -> Iterator[Finding]:
    """Examine each case, and keep the files of those that broke something."""
    with Laboratory() as laboratory, tempfile.TemporaryDirectory(prefix="irbench-fuzz-") as folder:
        for case in cases(count, seed):
            outcome = laboratory.examine(case.files.write(Path(folder) / case.name))
            bad = outcome.forbidden or outcome.checker or {"crashed", "hung"} & set(outcome.backends.values())
            if keep is not None and bad and not (keep / case.name).exists():
                case.files.write(keep / case.name)
            yield Finding(case, outcome)


def through_the_front_door(case: Case, folder: Path) -> str:
    """Run a case as a user would, and return what is wrong with how irbench took it; nothing where all is well."""
    path = case.files.write(folder / case.name)
    arguments = ("--backends", ",".join(BACKENDS), "--quick", "--budget", "1s", "--deadline", "30s")
    called = irbench("run", path, *arguments)
    lines = called.err.strip().splitlines()
    if called.code not in (0, 1, 2, 3):
        return f"exit code {called.code}: {called.err}"
    if called.code == 2 and [line.split(":")[0] for line in lines] != ["error", "hint"]:
        return f"not one line and its remedy: {called.err}"
    return ""


def report(findings: Sequence[Finding]) -> str:
    """Return two Markdown tables: what irbench made of the files, and what the runtimes made of those it accepted."""
    rows = ["| mutation | files | refused | accepted | irbench failed |", "|---|---|---|---|---|"]
    for mutation in [*sorted({finding.case.mutation for finding in findings}), "all"]:
        of_it = [finding.outcome for finding in findings if mutation in ("all", finding.case.mutation)]
        count = Counter("failed" if item.forbidden else item.intake for item in of_it)
        rows.append(f"| {mutation} | {len(of_it)} | {count['refused']} | {count['accepted']} | {count['failed']} |")
    rows += ["", f"| runtime | {' | '.join(_RUNTIME_OUTCOMES)} |", "|---" * (len(_RUNTIME_OUTCOMES) + 1) + "|"]
    for backend in BACKENDS:
        count = Counter(finding.outcome.backends.get(backend) for finding in findings)
        rows.append(f"| {backend} | {' | '.join(str(count[outcome]) for outcome in _RUNTIME_OUTCOMES)} |")
    died = Counter(finding.outcome.checker for finding in findings if finding.outcome.checker)
    rows += ["", f"The worker that examines files crashed on {died['crashed']} and hung on {died['hung']} of them."]
    return "\n".join(rows)


def main() -> int:
    """Fuzz, print the report and every case that broke something; 1 where irbench itself failed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--keep", type=Path, help="where files that broke something are kept")
    arguments = parser.parse_args()
    findings: list[Finding] = []
    for finding in fuzz(arguments.count, arguments.seed, arguments.keep):
        findings.append(finding)
        outcome = finding.outcome
        ends = {
            name: outcome.reasons[name] for name, backend in outcome.backends.items() if backend in ("crashed", "hung")
        }
        if outcome.forbidden or outcome.checker or ends:
            said = f"{outcome.intake}: {outcome.said}" if outcome.said else ends
            click.echo(f"{finding.case.name}: {said}", err=True)
    problems = []
    with tempfile.TemporaryDirectory(prefix="irbench-fuzz-") as folder:
        for case in list(cases(arguments.count, arguments.seed))[::_FRONT_DOOR_EVERY]:
            problem = through_the_front_door(case, Path(folder))
            if problem:
                problems.append(f"{case.name} through the front door: {problem}")
    click.echo(report(findings))
    click.echo("\n".join(problems), err=True)
    return int(bool(problems) or any(item.outcome.forbidden for item in findings))


if __name__ == "__main__":
    sys.exit(main())
