"""What the tensors of a decoder are, by their names and shapes: tokens, scores, caches, masks and positions."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from irbench.errors import IrbenchError
from irbench.spec import BATCH, Artifact, TensorSpec, is_named_as_mask, shape_text
from irbench.spec.generation import Counter, Role, is_of_encoder

_TOKEN_NAMES = ("input_ids", "decoder_input_ids", "tokens", "token_ids", "input_tokens", "ids")
_CACHE_WORDS = frozenset(
    {"past", "present", "key", "values", "value", "cache", "new", "updated", "in", "out", "output"}
)
_WORD = re.compile(r"[a-z]+|\d+")
_LENGTHS: Mapping[Counter, re.Pattern[str]] = {
    "last": re.compile(r"seqlens?_k"),
    "total": re.compile(r"total\w*len"),
    "past": re.compile(r"(past|cache)\w*(len|index)|start_pos|offset"),
}
"""Names of inputs that say how many tokens there are; the first that fits."""
_WITH_POSITIONS = 3


@dataclass(frozen=True)
class CachePair:
    """An input of a decoder, and the output that it becomes.

    Attributes:
        input: Its place among the inputs.
        output: Its place among the outputs.
        axis: Along which it grows with each token; ``None`` where its size is fixed.
    """

    input: int
    output: int
    axis: int | None


@dataclass(frozen=True)
class DecoderSignature:
    """Tells the tensors of one graph apart.

    Attributes:
        name: What errors call the graph.
        artifact: The graph.
        feedback: Outputs by the cache inputs that they become, where names do not tell.
        given: Names of inputs that the user gives values for.
    """

    name: str
    artifact: Artifact
    feedback: Mapping[str, str] = field(default_factory=dict[str, str])
    given: Collection[str] = ()

    def caches(self) -> tuple[CachePair, ...]:
        """Return the inputs that outputs become: pairs that were named, then those with like names or in like places.

        Raises:
            IrbenchError: One that was named does not exist or fit, or it is not known along which axis it grows.
        """
        if self.feedback:
            return tuple(self._named())
        tokens, logits = self.tokens, self.logits
        outputs = [place for place in range(len(self.artifact.outputs)) if place != logits]
        inputs = [place for place in range(len(self.artifact.inputs)) if place != tokens and self._may_be_cache(place)]
        by_name = {place_in_name(self.artifact.outputs[place].name): place for place in outputs}
        pairs = [(place, by_name.get(place_in_name(self._input_name(place)))) for place in inputs]
        matched = [(place, output) for place, output in pairs if output is not None and self._fit(place, output)]
        matched = matched or list(self._in_order(inputs, outputs))
        return tuple(CachePair(place, output, self._growing_axis(place, output)) for place, output in matched)

    def given_first(self, outputs: Sequence[str], known: Collection[int]) -> dict[int, int]:
        """Return the cache inputs that outputs of another graph become, which reads the prompt, by their places.

        Args:
            outputs: Names of the other graph's outputs.
            known: Inputs that are caches.

        Returns:
            The input for each place of an output; those that become none are left out.
        """
        likely = {place_in_name(self._input_name(place)): place for place in self._cache_like(known)}
        named = {place: likely[key] for place, name in enumerate(outputs) if (key := place_in_name(name)) in likely}
        return named if set(known) <= set(named.values()) else {}

    def without_scores(self, becomes: Mapping[int, int]) -> dict[int, int]:
        """Return what outputs become, by their places, without the scores, which become no cache."""
        return {place: cache for place, cache in becomes.items() if place != self.logits}

    def _cache_like(self, known: Collection[int]) -> Iterator[int]:
        tokens = self.tokens
        for place in range(len(self.artifact.inputs)):
            if place in known or (place != tokens and self._may_be_cache(place) and "past" in self._input_name(place)):
                yield place

    def encoded_axis(self, place: int) -> int | None:
        """Return the axis of an encoder's positions in a cache that is computed from its answer."""
        shape = self.artifact.inputs[place].shape
        return next((axis for axis, size in enumerate(shape) if isinstance(size, str) and size != BATCH), None)

    def role(self, place: int) -> Role | None:
        """Return what an input is that is neither tokens nor a cache; ``None`` where it stays as it is.

        Raises:
            IrbenchError: It is an integer of which nobody knows what it counts: generated values would make answers
                meaningless.
        """
        spec, name = self.artifact.inputs[place], self._input_name(place)
        if self._is_mask(place):
            return "mask"
        if self._are_positions(place):
            return "positions"
        if spec.dtype == "bool" and _has_one_element(spec):
            return "branch"
        if "int" not in spec.dtype or not _has_one_element(spec):
            return None
        counter: Counter | None = next((own for own, names in _LENGTHS.items() if names.search(name)), None)
        if counter is None and spec.name not in self.given:
            raise IrbenchError(
                f"It is not known what the input {described(spec)} of {self.name} counts.",
                hint=f"Give it a value: --value {spec.name}=1. Or call it past_length or total_length in the file.",
            )
        return counter

    @property
    def takes_single_tokens(self) -> bool:
        """Whether a call takes one token."""
        return self.artifact.inputs[self.tokens].shape[1] == 1

    @property
    def vocabulary(self) -> int | None:
        """For how many tokens there is a score; ``None`` where the graph does not tell."""
        size = self.artifact.outputs[self.logits].shape[-1]
        return size if isinstance(size, int) else None

    @property
    def tokens(self) -> int:
        """The input of token ids, integers of shape (batch, tokens), by its place."""
        rows = [
            place for place, spec in enumerate(self.artifact.inputs) if "int" in spec.dtype and len(spec.shape) == 2
        ]
        for place in rows:
            if self.artifact.inputs[place].name.lower() in _TOKEN_NAMES:
                return place
        others = [place for place in rows if not self._is_mask(place) and "position" not in self._input_name(place)]
        if len(others) != 1:
            raise IrbenchError(
                f"{self.name} has no input of tokens: none is called {_TOKEN_NAMES[0]} ({self.tensors()}).",
                hint="--generate takes decoders of tokens: integers of shape batch x tokens.",
            )
        return others[0]

    @property
    def logits(self) -> int:
        """The output with a score for each token of the vocabulary, (batch, tokens, vocabulary), by its place."""
        fed_back = set(self.feedback.values())
        scores = [
            place
            for place, spec in enumerate(self.artifact.outputs)
            if "float" in spec.dtype and len(spec.shape) in (2, _WITH_POSITIONS) and spec.name not in fed_back
        ]
        named = [place for place in scores if "logits" in self.artifact.outputs[place].name.lower()]
        if not named:
            named = self._widest(scores)
        if not named:
            raise IrbenchError(
                f"{self.name} has no output of scores for the next token: none is called logits ({self.tensors()}).",
                hint="--generate takes decoders that answer a score for each token of the vocabulary.",
            )
        return named[0]

    def _widest(self, scores: Sequence[int]) -> list[int]:
        """Return the output whose last axis is the longest: a vocabulary is larger than what it is computed from."""
        sizes = {place: self.artifact.outputs[place].shape[-1] for place in scores}
        if len(scores) == 1 or not all(isinstance(size, int) for size in sizes.values()):
            return list(scores) if len(scores) == 1 else []
        longest = max((size for size in sizes.values() if isinstance(size, int)), default=0)
        widest = [place for place, size in sizes.items() if size == longest]
        return widest if len(widest) == 1 else []

    def _in_order(self, inputs: Sequence[int], outputs: Sequence[int]) -> Iterator[tuple[int, int]]:
        """Yield each input with the first output that fits it and became no other input."""
        left = list(outputs)
        for place in inputs:
            output = next((output for output in left if self._fit(place, output)), None)
            if output is not None:
                left.remove(output)
                yield place, output

    def _named(self) -> Iterator[CachePair]:
        inputs = {spec.name: place for place, spec in enumerate(self.artifact.inputs)}
        outputs = {spec.name: place for place, spec in enumerate(self.artifact.outputs)}
        for name, output in self.feedback.items():
            if name not in inputs or output not in outputs:
                raise IrbenchError(
                    f"--feedback {output}={name}: {self.name} has no such pair ({self.tensors()}).",
                    hint="Write it like output=input.",
                )
            if not self._fit(inputs[name], outputs[output]):
                raise IrbenchError(
                    f"--feedback {output}={name}: {described(self.artifact.outputs[outputs[output]])} cannot become"
                    f" {described(self.artifact.inputs[inputs[name]])}.",
                    hint="A cache has one dtype and one number of axes, and grows along one of them.",
                )
            yield CachePair(inputs[name], outputs[output], self._growing_axis(inputs[name], outputs[output]))

    def _fit(self, place: int, output: int) -> bool:
        spec, other = self.artifact.inputs[place], self.artifact.outputs[output]
        if spec.dtype != other.dtype or len(spec.shape) != len(other.shape):
            return False
        return sum(_differ(size, size_after) for size, size_after in zip(spec.shape, other.shape, strict=True)) <= 1

    def _growing_axis(self, place: int, output: int) -> int | None:
        """Return the axis whose size is another after a call; where the output does not tell, the dynamic one."""
        spec, other = self.artifact.inputs[place], self.artifact.outputs[output]
        pairs = enumerate(zip(spec.shape, other.shape, strict=True))
        free = [axis for axis, (size, after) in pairs if size != BATCH and isinstance(size, str) and size != after]
        if len(free) == 1:
            return free[0]
        dynamic = [axis for axis, size in enumerate(spec.shape) if isinstance(size, str) and size != BATCH]
        if len(dynamic) > 1:
            raise IrbenchError(
                f"The cache {described(spec)} of {self.name} has several dynamic dimensions, and it is not known along"
                " which it grows.",
                hint="Export it with fixed numbers of heads and values, or with a named output shape.",
            )
        return dynamic[0] if dynamic else None

    def _may_be_cache(self, place: int) -> bool:
        spec = self.artifact.inputs[place]
        return len(spec.shape) >= _WITH_POSITIONS and not self._is_mask(place)

    def _is_mask(self, place: int) -> bool:
        name = self._input_name(place)
        return is_named_as_mask(name) and not is_of_encoder(name)

    def _are_positions(self, place: int) -> bool:
        spec = self.artifact.inputs[place]
        if "int" not in spec.dtype or "position" not in spec.name.lower():
            return False
        return spec.shape[-1:] == self.artifact.inputs[self.tokens].shape[1:] and len(spec.shape) in (1, 2)

    def _input_name(self, place: int) -> str:
        return self.artifact.inputs[place].name.lower()

    def tensors(self) -> str:
        """Return the names of its inputs and outputs, the first of many."""
        shown = 6
        inputs = [spec.name for spec in self.artifact.inputs]
        outputs = [spec.name for spec in self.artifact.outputs]
        lists = (", ".join(names[:shown]) + (", ..." if len(names) > shown else "") for names in (inputs, outputs))
        return "inputs: {}; outputs: {}".format(*lists)


def described(spec: TensorSpec) -> str:
    """Return the name, the type and the shape of a tensor."""
    return f"{spec.name} ({spec.dtype}, {shape_text(spec.shape)})"


def _has_one_element(spec: TensorSpec) -> bool:
    """Whether a tensor has one element at a batch of one."""
    return all(size in (1, BATCH) for size in spec.shape)


def place_in_name(name: str) -> tuple[str, ...]:
    """Return what tells a cache from the others: ``past_key_values.0.key`` and ``present.0.key`` are both 0, key."""
    words = _WORD.findall(name.lower())
    numbers = [word for word in words if word.isdigit()]
    kinds = [word for word in words if not word.isdigit()]
    is_value = "value" in kinds or kinds.count("values") > ("past" in kinds or "present" in kinds)
    own = [word for word in kinds if word not in _CACHE_WORDS]
    return (*numbers, *own, *(("value",) if is_value else ("key",) if "key" in kinds[-1:] else ()))


def _differ(size: int | str, after: int | str) -> bool:
    return size != after and size != BATCH
