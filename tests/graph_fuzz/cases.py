"""The graphs of a seed: patterns, near-misses of them, and random ones, some of them hidden."""

from __future__ import annotations

import contextlib
import itertools
import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import onnx

from . import (  # noqa: F401 - each registers its patterns
    patterns_activations,
    patterns_attention,
    patterns_decoders,
    patterns_layouts,
    patterns_normalization,
    patterns_positions,
    patterns_recurrence,
    patterns_select,
    patterns_shapes,
)
from .building import Builder, Unbuildable
from .choices import Choices, Deviation
from .dressing import DRESSINGS, dress
from .patterns import PATTERNS, Pattern
from .random_graphs import random_graph

OPSETS = (*range(9, 13), *(13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26) * 3, *(17, 18, 20, 23) * 6)
"""Operator sets that ONNX Runtime runs; common ones more often."""

_ATTEMPTS = 40
_HIDDEN = 0.45


@dataclass(frozen=True)
class Case:
    """One graph.

    Attributes:
        number: Its place in the sequence of its seed.
        kind: ``pattern``, ``near-miss`` or ``random``.
        pattern: The name of the pattern; ``random`` for a random graph.
        deviation: What makes it a near-miss.
        dressing: How it is hidden; empty where it is not.
        passes: Passes that look for the pattern.
        content: The graph.
    """

    number: int
    kind: str
    pattern: str
    deviation: str
    dressing: str
    passes: tuple[str, ...]
    content: bytes

    @property
    def name(self) -> str:
        """What its file is called."""
        parts = (self.pattern, self.deviation, self.dressing)
        return "-".join([f"{self.number:05d}", *(part.replace(" ", "_") for part in parts if part)])


def cases(count: int, seed: int, first: int = 0) -> Iterator[Case]:
    """Yield ``count`` graphs; each has a generator of its own, so that one can be made without the others."""
    return (case(number, seed) for number in range(first, first + count))


def case(number: int, seed: int, patterns: Sequence[str] = ()) -> Case:
    """Return one graph of a seed.

    Args:
        number: Which one.
        seed: Of what is random in it.
        patterns: The patterns to choose from, without random graphs; all where none are named.
    """
    chance = random.Random(f"{seed}/{number}")
    for _ in range(_ATTEMPTS):
        kind = chance.choice(("pattern", "near-miss", "near-miss") if patterns else _KINDS)
        try:
            return _random(number, chance) if kind == "random" else _of_pattern(number, kind, chance, patterns)
        except Unbuildable:
            continue
    raise AssertionError(f"graph {number} of seed {seed} cannot be built")


_KINDS = ("pattern", "near-miss", "near-miss", "random", "random")


def _random(number: int, chance: random.Random) -> Case:
    choices = Choices(chance)
    model = _valid(_build(random_graph, choices, chance.choice(OPSETS)))
    model, dressing = _hidden(model, choices)
    return Case(number, "random", "random", "", dressing, (), model.SerializeToString(deterministic=True))


def _of_pattern(number: int, kind: str, chance: random.Random, patterns: Sequence[str]) -> Case:
    found = PATTERNS[chance.choice(list(patterns or PATTERNS))]
    opset = chance.choice([opset for opset in OPSETS if found.opset <= opset <= found.last])
    deviation = chance.choice(deviations(found, opset, chance.random())) if kind == "near-miss" else None
    choices = Choices(chance, deviation)
    model = _valid(_build(found.build, choices, opset))
    if deviation is not None and deviation[0] not in choices.offered:
        raise Unbuildable("other choices left nothing to deviate from")
    model, dressing = _hidden(model, choices)
    said = "" if deviation is None else f"{deviation[0]} {deviation[1]}"
    return Case(number, kind, found.name, said, dressing, found.passes, model.SerializeToString(deterministic=True))


def near_misses(pattern: Pattern, each: int) -> Iterator[bytes]:
    """Yield some graphs for each way in which a pattern can be missed, none of them hidden."""
    opset = pattern.usual_opset
    found: dict[Deviation, None] = {}
    for seed in range(_ATTEMPTS):
        with contextlib.suppress(Unbuildable):
            found |= dict.fromkeys(deviations(pattern, opset, seed))
    for deviation in found:
        yield from itertools.islice(_missed(pattern, deviation, opset), each)


def _missed(pattern: Pattern, deviation: Deviation, opset: int) -> Iterator[bytes]:
    for seed in range(_ATTEMPTS):
        choices = Choices(random.Random(f"{deviation}/{seed}"), deviation)
        with contextlib.suppress(Unbuildable):
            model = build_pattern(pattern, choices, opset)
            if deviation[0] in choices.offered:
                yield model.SerializeToString(deterministic=True)


def deviations(pattern: Pattern, opset: int, seed: float) -> list[Deviation]:
    """Return the wrong choices that a pattern offers with some right ones.

    Raises:
        Unbuildable: It cannot be built at this operator set.
    """
    choices = Choices(random.Random(seed))
    _build(pattern.build, choices, opset)
    found = choices.deviations
    if not found:
        raise Unbuildable("it has no near-misses")
    return found


def build_pattern(pattern: Pattern, choices: Choices, opset: int) -> onnx.ModelProto:
    """Return a pattern as a model of its own.

    Raises:
        Unbuildable: It cannot be built so.
    """
    return _valid(_build(pattern.build, choices, opset))


def _build(build: object, choices: Choices, opset: int) -> onnx.ModelProto:
    builder = Builder(choices, opset)
    outputs = build(builder)  # type: ignore[operator]
    named = {name for node in builder.nodes for name in node.output}
    computed = [value for value in outputs if value.name in named]
    if not computed or not builder.inputs:
        raise Unbuildable("nothing is computed of inputs")
    return builder.model(computed)


def _valid(model: onnx.ModelProto) -> onnx.ModelProto:
    try:
        onnx.checker.check_model(model, full_check=True)
    except Exception as problem:
        raise Unbuildable(str(problem)) from problem
    return model


def _hidden(model: onnx.ModelProto, choices: Choices) -> tuple[onnx.ModelProto, str]:
    if not choices.likely(_HIDDEN):
        return model, ""
    names = choices.chance.sample(sorted(DRESSINGS), choices.any_of(1, 1, 2))
    for name in names:
        model = _valid(dress(model, choices, name))
    return model, " and ".join(names)
