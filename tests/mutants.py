"""What the tests notice: ``python -m tests.mutants`` breaks one thing at a time and runs the tests of its room.

A mutant is one change of the source: a comparison flipped, a number off by one, ``and`` made ``or``, a sign turned, a
condition never met, an answer of ``None``. All that the source has room for are found in its syntax, and the order of
their digests, which hold the seed, the function and the changed text, but no line number, chooses among them. So the
list follows the source: an edit moves no mutant elsewhere, and two commits have the same ones but where they differ.

Everything happens in a copy of the repository in a temporary folder. Tests that fail there unchanged are left out.
"""

from __future__ import annotations

import argparse
import ast
import hashlib
import os
import re
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from pathlib import Path
from queue import SimpleQueue

import click

ROOT = Path(__file__).parents[1]
SEED = 1
LONGEST_CPU_S = 300
LONGEST_S = 1500
"""Tests that wait for what a mutant never does have noticed it; on a busy machine they only take longer."""
QUICK = "not slow and not ci"
_COPIED = ("irbench", "backends", "model_zoo", "benchmarks", "tests", "docs")
_PYTEST = (sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", "--tb=no", "-m")

_ORDERS = {"<": "<=", "<=": "<", ">": ">=", ">=": ">", "==": "!=", "!=": "=="}
_COMPARISONS = {**_ORDERS, "is": "is not", "is not": "is", "in": "not in", "not in": "in"}
_CONNECTIVES = {"and": "or", "or": "and"}
_SIGNS = {"+": "-", "-": "+", "*": "/", "/": "*"}


_Change = tuple[int, int, str]
"""From where, to where, in bytes, and the new text."""


@dataclass(frozen=True)
class Room:
    """A subject.

    Attributes:
        sources: Patterns of the modules that are broken.
        tests: Patterns of the files and folders of the tests that are to notice.
        count: How many mutants are made.
    """

    sources: tuple[str, ...]
    tests: tuple[str, ...]
    count: int


ROOMS = {
    "stopping": Room(
        (
            "irbench/stats/stopping_rule.py",
            "irbench/stats/stopping_rule.py",
            "irbench/stats/launch_planning.py",
            "irbench/stats/winner.py",
        ),
        ("tests/unit/stats", "tests/unit/runner"),
        40,
    ),
    "statistics": Room(("irbench/stats/**/*.py",), ("tests/unit/stats",), 50),
    "passes": Room(
        ("irbench/optimizer/passes/**/*.py",),
        ("tests/unit/optimizer/passes", "tests/unit/optimizer/test_graph_fuzz.py"),
        50,
    ),
    "verification": Room(
        (
            "irbench/core/output_check.py",
            "irbench/features/verify/*.py",
            "irbench/optimizer/agreement.py",
            "irbench/optimizer/step_check.py",
        ),
        (
            "tests/unit/core/test_output_check.py",
            "tests/unit/test_degenerate_outputs.py",
            "tests/unit/features/verify",
            "tests/unit/optimizer/test_[!g]*.py",
        ),
        30,
    ),
    "confinement": Room(
        (
            "irbench/system/confinement.py",
            "irbench/system/confinement.py",
            "irbench/system/seccomp.py",
            "irbench/system/seccomp.py",
            "irbench/worker/*confine*.py",
            "irbench/worker/interpreters.py",
        ),
        ("tests/unit/system", "tests/unit/worker", "tests/integration/test_confined_runs.py"),
        30,
    ),
}
"""A module belongs to the first room that names it."""


@dataclass(frozen=True)
class Mutant:
    """One change.

    Attributes:
        key: What names it as long as its function has the changed text.
        room: Of its module.
        path: Of its module, within the repository.
        function: Whose text is changed.
        line: Where the changed text begins.
        old: Its expression as it is.
        new: And changed.
        source: The whole module, changed.
    """

    key: str
    room: str
    path: str
    function: str
    line: int
    old: str
    new: str
    source: str

    def __str__(self) -> str:
        """One line: where it is, and what it changes."""
        old, new = (" ".join(text.split()) for text in (self.old, self.new))
        return f"{self.key}  {self.path}:{self.line} {self.function}: {old}  ->  {new}"


@dataclass(frozen=True)
class _Source:
    path: str
    text: str
    starts: tuple[int, ...]

    def span(self, node: ast.expr | ast.stmt) -> tuple[int, int]:
        """Where it begins and ends, in bytes."""
        assert node.end_lineno is not None
        assert node.end_col_offset is not None
        return self.starts[node.lineno - 1] + node.col_offset, self.starts[node.end_lineno - 1] + node.end_col_offset


def _read(path: Path, name: str) -> _Source:
    text = path.read_text()
    starts = [0]
    for line in text.encode().splitlines(keepends=True):
        starts.append(starts[-1] + len(line))
    return _Source(name, text, tuple(starts))


def _between(
    source: _Source, left: ast.expr, right: ast.expr, turned: dict[str, str]
) -> Iterator[tuple[int, int, str]]:
    """Yield the operator between two operands, turned."""
    start, end = source.span(left)[1], source.span(right)[0]
    gap = source.text.encode()[start:end].decode()
    operator = next((one for one in sorted(turned, key=len, reverse=True) if one in gap), None)
    if operator is not None:
        yield start, end, gap.replace(operator, turned[operator], 1)


def _replacements(source: _Source, node: ast.AST) -> Iterator[_Change]:
    """Yield what a node can be changed to: from where, to where, and the new text."""
    match node:
        case ast.Compare(left=left, comparators=right):
            for one, other in pairwise([left, *right]):
                yield from _between(source, one, other, _COMPARISONS)
        case ast.BoolOp(values=values):
            yield from _between(source, values[0], values[1], _CONNECTIVES)
        case ast.BinOp(left=left, right=other, op=ast.Add() | ast.Sub() | ast.Mult() | ast.Div()):
            yield from _between(source, left, other, _SIGNS)
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            yield source.span(node)[0], source.span(operand)[0], ""
        case ast.Constant(value=bool(value)):
            yield *source.span(node), str(not value)
        case ast.Constant(value=int(value) | float(value)):
            yield *source.span(node), str(value + 1)
        case ast.If(test=test) | ast.IfExp(test=test):
            yield *source.span(test), "False"
        case ast.Return(value=ast.expr() as value) if not isinstance(value, ast.Constant):
            yield *source.span(value), "None"
        case _:
            pass


def _nodes(tree: ast.AST, within: str = "") -> Iterator[tuple[str, ast.AST]]:
    """Yield what runs, with the name of its function; neither annotations nor the pieces of a formatted text."""
    for name, field in ast.iter_fields(tree):
        if name in ("annotation", "returns", "decorator_list"):
            continue
        for child in field if isinstance(field, list) else [field]:
            if not isinstance(child, ast.AST) or isinstance(child, ast.JoinedStr):
                continue
            if isinstance(child, ast.If) and "TYPE_CHECKING" in ast.unparse(child.test):
                continue
            inner = within
            if isinstance(child, ast.FunctionDef | ast.ClassDef):
                inner = f"{within}.{child.name}" if within else child.name
            yield inner, child
            yield from _nodes(child, inner)


def _statement(source: _Source, start: int, end: int, new: str) -> tuple[str, str]:
    """Return the lines around a change, as they are and changed."""
    data = source.text.encode()
    first, last = data.rfind(b"\n", 0, start) + 1, data.find(b"\n", end)
    old = data[first:last]
    return old.decode(), (data[first:start] + new.encode() + data[end:last]).decode()


def mutants_of(path: Path, name: str, room: str, seed: int) -> Iterator[Mutant]:
    """Yield every mutant of a module.

    Args:
        path: Where it is.
        name: Its path within the repository.
        room: The room it belongs to.
        seed: What the keys are made with.
    """
    source = _read(path, name)
    data, seen = source.text.encode(), Counter[str]()
    for function, node in _nodes(ast.parse(source.text)):
        for start, end, new in _replacements(source, node):
            old_line, new_line = _statement(source, start, end, new)
            changed = (data[:start] + new.encode() + data[end:]).decode()
            told = f"{seed} {name} {function} {' '.join(old_line.split())} {' '.join(new_line.split())}"
            seen[told] += 1
            key = hashlib.sha256(f"{told} {seen[told]}".encode()).hexdigest()[:10]
            try:
                compile(changed, name, "exec")
            except SyntaxError:
                continue
            line = data.count(b"\n", 0, start) + 1
            yield Mutant(key, room, name, function or "(module)", line, old_line, new_line, changed)


def chosen(root: Path = ROOT, seed: int = SEED) -> list[Mutant]:
    """Return the mutants of all rooms: of each as many as it is to have, lowest keys first."""
    taken: set[str] = set()
    found = []
    for room, declared in ROOMS.items():
        paths = {path for pattern in declared.sources for path in root.glob(pattern)}
        names = {path.relative_to(root).as_posix(): path for path in paths}
        candidates = [
            mutant for name in sorted(names.keys() - taken) for mutant in mutants_of(names[name], name, room, seed)
        ]
        taken |= names.keys()
        found += sorted(candidates, key=lambda mutant: mutant.key)[: declared.count]
    return found


class Copy:
    """A copy of the repository that one mutant at a time is put into.

    Args:
        folder: Where it is made.
        with_ci: Whether the tests of continuous integration are run as well.
    """

    def __init__(self, folder: Path, with_ci: bool) -> None:
        self.with_ci = with_ci
        self.folder = folder
        self.writes = 0
        for name in _COPIED:
            shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
        for path in ROOT.iterdir():
            if path.is_file():
                shutil.copy2(path, folder)
        paths = os.pathsep.join(str(folder / name) for name in ("", "backends", "model_zoo"))
        self.environment = {**os.environ, "PYTHONPATH": paths, "PYTHONPYCACHEPREFIX": str(folder / "pycache")}
        self.environment.pop("PYTHONDONTWRITEBYTECODE", None)

    def put(self, path: str, source: str) -> None:
        """Write a module; with a time of its own, by which Python knows that what it compiled is of another text."""
        target = self.folder / path
        target.write_text(source)
        self.writes += 1
        os.utime(target, (self.writes, self.writes))

    def run(self, tests: Sequence[str], marks: str, *more: str, cpu_s: int = LONGEST_CPU_S) -> tuple[int, str]:
        """Run tests; return the exit code of pytest, 124 where they did not end, and what it printed."""
        running = subprocess.Popen(
            [*_PYTEST, marks, *more, *tests],
            cwd=self.folder,
            env=self.environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,  # a mutant may signal its whole group
            preexec_fn=partial(resource.setrlimit, resource.RLIMIT_CPU, (cpu_s, cpu_s)),
        )
        try:
            printed, _ = running.communicate(timeout=LONGEST_S)
        except subprocess.TimeoutExpired:
            os.killpg(running.pid, signal.SIGKILL)
            running.communicate()
            return 124, ""
        return running.returncode, printed

    def tests_of(self, mutant: Mutant) -> Iterator[tuple[list[str], str]]:
        """Yield what is run in turn, with its marks: tests that name the module, those of the room, and longer ones."""
        module = mutant.path.removesuffix(".py").replace("/", ".")
        package, _, name = module.rpartition(".")
        named = re.compile(rf"\b{re.escape(module)}\b|from {re.escape(package)} import [^\n]*\b{name}\b")
        room = [path for pattern in ROOMS[mutant.room].tests for path in sorted(self.folder.glob(pattern))]
        files = [file for path in room for file in (sorted(path.rglob("test_*.py")) if path.is_dir() else [path])]
        first = [str(file) for file in files if file.stem == f"test_{name}" or named.search(file.read_text())]
        if first:
            yield first, QUICK
        yield [str(path) for path in room], QUICK
        if self.with_ci:
            yield [str(path) for path in room], "ci and not slow"


def failing_unchanged(copy: Copy, rooms: Iterable[str]) -> list[str]:
    """Return the tests that fail in the copy as it is, such as those that look for the checkout's environment."""
    tests = sorted({pattern for room in rooms for pattern in ROOMS[room].tests})
    paths = [str(path) for pattern in tests for path in sorted(copy.folder.glob(pattern))]
    code, printed = copy.run(paths, "not slow" if copy.with_ci else QUICK, "--maxfail=1000", "-rfE", cpu_s=LONGEST_S)
    if code not in (0, 1):
        raise SystemExit(f"pytest ended with {code} in an unchanged copy:\n{printed}")
    return [
        line.split(" - ")[0].split(" ", 1)[1] for line in printed.splitlines() if line.startswith(("FAILED", "ERROR"))
    ]


def noticed_by(copy: Copy, mutant: Mutant, left_out: Sequence[str]) -> str | None:
    """Return which test notices a mutant, or None."""
    whole = (ROOT / mutant.path).read_text()
    copy.put(mutant.path, mutant.source)
    try:
        for tests, marks in copy.tests_of(mutant):
            code, printed = copy.run(tests, marks, "-rfE", *(f"--deselect={test}" for test in left_out))
            if code not in (0, 5):
                failed = re.search(r"^(?:FAILED|ERROR) (\S+)", printed, re.MULTILINE)
                return failed[1] if failed else "no end" if code == 124 else f"exit code {code}"
    finally:
        copy.put(mutant.path, whole)
    return None


def _try_all(mutants: Sequence[Mutant], workers: int, with_ci: bool) -> list[Mutant]:
    """Run the tests of each mutant, print what noticed it, and return those that nothing noticed."""
    survivors = []
    with tempfile.TemporaryDirectory(prefix="mutants-") as folder, ThreadPoolExecutor(workers) as pool:
        copies: SimpleQueue[Copy] = SimpleQueue()
        for number in range(workers):
            copies.put(Copy(Path(folder) / str(number), with_ci))
        first = copies.get()
        left_out = failing_unchanged(first, {mutant.room for mutant in mutants})
        copies.put(first)
        click.echo(f"{len(left_out)} tests fail in an unchanged copy and are left out: {left_out}")

        def one(mutant: Mutant) -> tuple[Mutant, str | None]:
            copy = copies.get()
            try:
                return mutant, noticed_by(copy, mutant, left_out)
            finally:
                copies.put(copy)

        for mutant, test in pool.map(one, mutants):
            click.echo(f"{'killed  ' if test else 'SURVIVED'}  {mutant}{f'  by {test}' if test else ''}")
            if test is None:
                survivors.append(mutant)
    return survivors


def main() -> int:
    """Break, run, and print how many mutants were killed and which survived."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--list", action="store_true", help="print the mutants, and run nothing")
    parser.add_argument("--sample", type=int, metavar="N", help="only N of them, spread over the rooms")
    parser.add_argument("--room", choices=ROOMS, help="only those of one room")
    parser.add_argument("--only", nargs="+", metavar="KEY", help="only those that begin so in the list")
    parser.add_argument("--seed", type=int, default=SEED)
    parser.add_argument("--workers", type=int, default=1, metavar="N", help="copies to work in at a time")
    parser.add_argument("--ci", action="store_true", help="where quick tests notice nothing, run those of test-ci too")
    given = parser.parse_args()
    mutants = [mutant for mutant in chosen(seed=given.seed) if given.room in (None, mutant.room)]
    if given.only:
        mutants = [mutant for mutant in mutants if mutant.key in given.only]
    if given.sample:
        mutants = mutants[:: max(1, len(mutants) // given.sample)][: given.sample]
    if given.list:
        click.echo("\n".join(f"{mutant.room:12}  {mutant}" for mutant in mutants))
        return 0
    survivors = _try_all(mutants, given.workers, given.ci)
    click.echo(f"\n{len(mutants) - len(survivors)} of {len(mutants)} killed, {len(survivors)} survived")
    for mutant in survivors:
        click.echo(f"  {mutant}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
