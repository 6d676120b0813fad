"""The graphs on which the mutants of a pass are looked for: ``python -m tests.graph_fuzz.ground fuse_gelu``.

Prints for each mutant how many graphs it takes to see its harm, and how many it rewrites otherwise than the pass.
"""

from __future__ import annotations

import argparse
import itertools
import signal
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any
from unittest.mock import patch

import click
import onnx
import onnx_ir

from irbench.core import registry
from irbench.spi import Pass

from . import (  # noqa: F401 - each registers its near-misses
    written_attention,
    written_cache,
    written_heads,
    written_layouts,
    written_normalization,
    written_packing,
    written_recurrence,
    written_rotary,
)
from .cases import near_misses
from .fuzzing import silence
from .judging import Judge, Unusable
from .mutants import Mutant, mutants
from .patterns import PATTERNS
from .routes import Route, travel
from .written import WRITTEN

_FIRST = {
    "pack_attention": ("fold_shapes", "remove_redundant", "fuse_attention", "remove_redundant"),
    "fold_shapes": (),
    "fuse_attention": ("fold_shapes", "remove_redundant"),
    "fuse_grouped_queries": ("fold_shapes", "remove_redundant", "fuse_attention"),
    "fuse_key_value_cache": ("fold_shapes", "remove_redundant", "fuse_attention", "fuse_grouped_queries"),
}
"""Passes that go before one, so that it finds its patterns as it does in a level."""


_MOST_SECONDS = 5.0
"""Of the processor, for a pass on one graph; it takes some milliseconds."""


@dataclass(frozen=True)
class Found:
    """What became of the graphs of a mutant.

    Attributes:
        harmed: Number of the first graph that it harms; ``None`` where it harms none.
        differing: How many graphs up to that one it rewrites otherwise than the pass itself.
    """

    harmed: int | None
    differing: int


class Ground:
    """The graphs on which the mutants of one pass are looked for.

    These are those that are written out for it, and near-misses of the patterns that it looks for.

    Args:
        name: The pass.
        each: Number of graphs for each way to miss a pattern; none where this is zero.
    """

    def __init__(self, name: str, each: int) -> None:
        self._pass = registry.graph_pass(name)
        self._judges = list(_prepared(name, each, _FIRST.get(name, ("fold_shapes",))))
        self._rewritten = [_rewritten(judge.content, self._pass) for judge in self._judges]

    def found(self, mutant: Mutant) -> Found:
        """Return how many graphs it takes to see that a mutant does harm."""
        differing = 0
        for number, (judge, rewritten) in enumerate(zip(self._judges, self._rewritten, strict=True)):
            made = _rewritten(judge.content, mutant.changed)
            if made == rewritten:
                continue
            differing += 1
            if made is None or _misreports(made, rewritten) or self._failures(judge, mutant.changed):
                return Found(number + 1, differing)
        return Found(None, differing)

    def sound(self) -> Sequence[Any]:
        """Return the failures of the pass itself, which must be none before its mutants are looked for."""
        return [failure for judge in self._judges for failure in self._failures(judge, self._pass)]

    def __len__(self) -> int:
        return len(self._judges)

    def _failures(self, judge: Judge, changed: Pass) -> list[Any]:
        original, name = registry.graph_pass, self._pass.name
        with patch.object(registry, "graph_pass", lambda other: changed if other == name else original(other)):
            outcomes = travel(judge, Route(f"pass {name}", (name,)), ())
            return [outcome for outcome in outcomes if outcome.is_failure]


@dataclass(frozen=True)
class _Rewritten:
    """A graph behind a pass, and whether the pass reports that it changed something."""

    content: bytes
    is_changed: bool


def _rewritten(content: bytes, changed: Pass) -> _Rewritten | None:
    """Return what a pass makes of a graph, or ``None`` where it fails or comes to no end."""
    model = onnx_ir.from_proto(onnx.load_from_string(content))
    try:
        with _limited():
            is_changed = changed(model)
        made: bytes = onnx_ir.to_proto(model).SerializeToString(deterministic=True)
    except (Exception, _Endless):  # noqa: BLE001 - a mutant fails in any way
        return None
    return _Rewritten(made, is_changed)


def _misreports(made: _Rewritten, expected: _Rewritten | None) -> bool:
    """Whether a mutant writes the same graph as the pass and reports something else about it."""
    return expected is not None and made.content == expected.content


class _Endless(BaseException):
    """A pass computes for longer than any that ends does on a graph of some nodes."""


@contextmanager
def _limited() -> Iterator[None]:
    def stop(*_: object) -> None:
        raise _Endless

    before = signal.signal(signal.SIGVTALRM, stop)
    signal.setitimer(signal.ITIMER_VIRTUAL, _MOST_SECONDS)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)


def _prepared(name: str, each: int, first: tuple[str, ...]) -> Iterator[Judge]:
    """Yield judges of graphs that went through the passes before, without those that fail there already."""
    patterns = [entry for entry in PATTERNS.values() if each and name in entry.passes]
    written = (graph.content() for graph in WRITTEN.get(name, {}).values())
    for content in itertools.chain(written, *(near_misses(entry, each) for entry in patterns)):
        levels: dict[Any, bytes] = {}
        try:
            judge = Judge(content)
            outcomes = list(travel(judge, Route("first", first), (), levels)) if first else []
            if not any(outcome.is_failure for outcome in outcomes):
                yield Judge(levels.get(first, judge.content))
        except Unusable:
            continue


def main() -> int:
    """Look for every mutant of the passes that are named, and print what became of them."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="+", help="passes")
    parser.add_argument("--each", type=int, default=3, help="graphs for each near-miss (default: %(default)s)")
    arguments = parser.parse_args()
    silence()
    for name in arguments.names:
        ground = Ground(name, arguments.each)
        for failure in ground.sound():
            click.echo(f"{name} itself: {failure.kind}: {failure.reason}")
        click.echo(f"{name}: {len(ground)} graphs")
        for mutant in mutants(name):
            found = ground.found(mutant)
            result = "survives" if found.harmed is None else f"graph {found.harmed}"
            click.echo(f"{result:>12} {found.differing:>5} differ  {mutant.label}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
