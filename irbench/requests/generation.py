"""From a decoder's signature to what is generated with it: which inputs are caches, masks and positions."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

from irbench.core.decode_loop import fixed_capacity
from irbench.errors import IrbenchError
from irbench.spec import BATCH, Artifact, Bundle, InputSpec, TensorSpec, is_named_as_mask, shape_text
from irbench.spec.generation import (
    CHECKED_LOGITS,
    GENERATED_OUTPUTS,
    PROMPT,
    TOP_LOGITS,
    CacheTensor,
    Decoding,
    GenerationArtifact,
    LengthInput,
    as_generation,
    generation,
)

_TOKEN_NAMES = ("input_ids", "decoder_input_ids", "tokens", "token_ids", "input_tokens", "ids")
_CACHE_WORDS = frozenset(
    {"past", "present", "key", "values", "value", "cache", "new", "updated", "in", "out", "output"}
)
_WORD = re.compile(r"[a-z]+|\d+")
_LENGTHS: Mapping[Literal["past", "total", "last"], re.Pattern[str]] = {
    "last": re.compile(r"seqlens?_k"),
    "total": re.compile(r"total\w*len"),
    "past": re.compile(r"(past|cache)\w*(len|index)|start_pos|offset"),
}
"""Names of inputs that say how many tokens there are; the first that fits."""
_WITH_POSITIONS = 3


@dataclass(frozen=True)
class GenerationRequest:
    """What is generated.

    Attributes:
        new_tokens: How many tokens follow each prompt.
        prompts: Lengths of the prompts.
        feedback: Outputs by the cache inputs that they become, where names do not tell.
        given: Names of inputs that the user gives values for.
    """

    new_tokens: int
    prompts: Sequence[int]
    feedback: Mapping[str, str] = field(default_factory=dict[str, str])
    given: Collection[str] = ()


def generations(bundles: Sequence[Bundle], request: GenerationRequest) -> tuple[Bundle, ...]:
    """Return decoders as models that take prompts and answer generated tokens.

    Raises:
        IrbenchError: One of them takes no tokens, gives no scores or keeps no cache, or its cache is too small.
    """
    return tuple(_generation(bundle, request) for bundle in bundles)


def _generation(bundle: Bundle, request: GenerationRequest) -> Bundle:
    artifact = bundle.artifact(("onnx",))
    if artifact is None:
        raise IrbenchError(
            f"{bundle.name} is no ONNX graph, and --generate calls ONNX graphs.", hint="Export it: irbench export MODEL"
        )
    decoding = _Signature(bundle.name, artifact, request).decoding()
    vocabulary = _vocabulary(artifact, decoding)
    tokens = artifact.inputs[decoding.tokens]
    batch = tokens.shape[0]
    prompt_input = replace(tokens, shape=(batch, PROMPT), dtype="int64")
    constants = tuple(bundle.inputs[place] for place in decoding.constants)
    inputs = (InputSpec(prompt_input, 0.0, float(vocabulary or 2)), *constants)
    outputs = _outputs(batch, request.new_tokens, vocabulary)
    like = generation(artifact, decoding, tuple(spec.tensor for spec in inputs), outputs)
    _require_capacity(bundle.name, like, max(request.prompts))
    every = tuple(as_generation(form, like) for form in bundle.artifacts)
    return replace(bundle, inputs=inputs, artifacts=every, reference=None, classifier=False)


def _outputs(batch: int | str, new_tokens: int, vocabulary: int | None) -> tuple[TensorSpec, ...]:
    top = min(TOP_LOGITS, vocabulary or TOP_LOGITS)
    shapes: tuple[tuple[int | str, ...], ...] = (
        (batch, new_tokens),
        (batch, new_tokens, top),
        (batch, new_tokens, top),
        (batch, min(CHECKED_LOGITS, new_tokens), vocabulary or "vocabulary"),
    )
    dtypes = ("int64", "float32", "int64", "float32")
    return tuple(map(TensorSpec, GENERATED_OUTPUTS, dtypes, shapes))


def _vocabulary(artifact: Artifact, decoding: Decoding) -> int | None:
    size = artifact.outputs[decoding.logits].shape[-1]
    return size if isinstance(size, int) else None


def _require_capacity(name: str, artifact: GenerationArtifact, prompt: int) -> None:
    new_tokens = artifact.decoding.new_tokens
    capacity, needed = fixed_capacity(artifact), prompt + new_tokens - 1
    if capacity is not None and needed > capacity:
        raise IrbenchError(
            f"A prompt of {prompt} tokens and {new_tokens} generated ones need {needed} places in"
            f" the cache of {name}, which has {capacity}.",
            hint="Give a shorter --prompt or a smaller --generate, or export the model with a larger cache.",
        )


@dataclass(frozen=True)
class _Signature:
    """What the tensors of a decoder are called, and what that says of them."""

    name: str
    artifact: Artifact
    request: GenerationRequest

    def decoding(self) -> Decoding:
        """Return what each tensor is."""
        inputs = self.artifact.inputs
        tokens = self._tokens()
        logits = self._logits()
        caches = tuple(self._caches(tokens, logits))
        if not caches:
            raise IrbenchError(
                f"{self.name} has no cache: no output could be fed back to an input ({self._tensors()}).",
                hint="Export the decoder with its past keys and values as inputs and outputs, or name them:"
                " --feedback present=past.",
            )
        known = {tokens, *(cache.input for cache in caches)}
        left = [place for place in range(len(inputs)) if place not in known]
        mask = next((place for place in left if self._is_mask(place)), None)
        positions = tuple(place for place in left if place != mask and self._are_positions(place, tokens))
        lengths = tuple(self._lengths(place for place in left if place not in positions))
        branches = tuple(place for place in left if inputs[place].dtype == "bool" and _elements(inputs[place]) == 1)
        named = {mask, *positions, *(length.input for length in lengths), *branches}
        constants = tuple(place for place in left if place not in named)
        self._require_known(constants)
        one_by_one = inputs[tokens].shape[1] == 1
        return Decoding(
            new_tokens=self.request.new_tokens,
            tokens=tokens,
            logits=logits,
            caches=caches,
            mask=mask,
            positions=positions,
            lengths=lengths,
            branches=branches,
            constants=constants,
            one_by_one=one_by_one,
        )

    def _tokens(self) -> int:
        rows = [
            place for place, spec in enumerate(self.artifact.inputs) if "int" in spec.dtype and len(spec.shape) == 2
        ]
        for place in rows:
            if self.artifact.inputs[place].name.lower() in _TOKEN_NAMES:
                return place
        others = [place for place in rows if not self._is_mask(place) and "position" not in self._input_name(place)]
        if len(others) != 1:
            raise IrbenchError(
                f"{self.name} has no input of tokens: none is called {_TOKEN_NAMES[0]} ({self._tensors()}).",
                hint="--generate takes decoders of tokens: integers of shape batch x tokens.",
            )
        return others[0]

    def _logits(self) -> int:
        fed_back = set(self.request.feedback.values())
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
                f"{self.name} has no output of scores for the next token: none is called logits ({self._tensors()}).",
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

    def _caches(self, tokens: int, logits: int) -> Iterator[CacheTensor]:
        """Yield the caches: pairs that were named, then those with like names, else those in like places."""
        outputs = [place for place in range(len(self.artifact.outputs)) if place != logits]
        if self.request.feedback:
            yield from self._named()
            return
        by_name = {_place_in_name(self.artifact.outputs[place].name): place for place in outputs}
        inputs = [place for place in range(len(self.artifact.inputs)) if place != tokens and self._may_be_cache(place)]
        pairs = [(place, by_name.get(_place_in_name(self._input_name(place)))) for place in inputs]
        matched = [(place, output) for place, output in pairs if output is not None and self._fit(place, output)]
        matched = matched or list(self._in_order(inputs, outputs))
        yield from (CacheTensor(place, output, self._growing_axis(place, output)) for place, output in matched)

    def _in_order(self, inputs: Sequence[int], outputs: Sequence[int]) -> Iterator[tuple[int, int]]:
        """Yield each input with the first output that fits it and became no other input."""
        left = list(outputs)
        for place in inputs:
            output = next((output for output in left if self._fit(place, output)), None)
            if output is not None:
                left.remove(output)
                yield place, output

    def _named(self) -> Iterator[CacheTensor]:
        inputs = {spec.name: place for place, spec in enumerate(self.artifact.inputs)}
        outputs = {spec.name: place for place, spec in enumerate(self.artifact.outputs)}
        for name, output in self.request.feedback.items():
            if name not in inputs or output not in outputs:
                raise IrbenchError(
                    f"--feedback {output}={name}: {self.name} has no such pair ({self._tensors()}).",
                    hint="Write it like output=input.",
                )
            if not self._fit(inputs[name], outputs[output]):
                raise IrbenchError(
                    f"--feedback {output}={name}: {self._described(outputs[output])} cannot become"
                    f" {_described(self.artifact.inputs[inputs[name]])}.",
                    hint="A cache has one dtype and one number of axes, and grows along one of them.",
                )
            yield CacheTensor(inputs[name], outputs[output], self._growing_axis(inputs[name], outputs[output]))

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
                f"The cache {_described(spec)} of {self.name} has several dynamic dimensions, and it is not known along"
                " which it grows.",
                hint="Export it with fixed numbers of heads and values, or with a named output shape.",
            )
        return dynamic[0] if dynamic else None

    def _may_be_cache(self, place: int) -> bool:
        spec = self.artifact.inputs[place]
        return len(spec.shape) >= _WITH_POSITIONS and not self._is_mask(place)

    def _is_mask(self, place: int) -> bool:
        name = self._input_name(place)
        return is_named_as_mask(name) and "encoder" not in name.replace("decoder", "")

    def _are_positions(self, place: int, tokens: int) -> bool:
        spec = self.artifact.inputs[place]
        if "int" not in spec.dtype or "position" not in spec.name.lower():
            return False
        return spec.shape[-1:] == self.artifact.inputs[tokens].shape[1:] and len(spec.shape) in (1, 2)

    def _lengths(self, places: Iterable[int]) -> Iterator[LengthInput]:
        for place in places:
            if not self._is_number(place):
                continue
            for counts, name in _LENGTHS.items():
                if name.search(self._input_name(place)):
                    yield LengthInput(place, counts)
                    break

    def _is_number(self, place: int) -> bool:
        """Whether an input holds one integer, or one for each sample."""
        spec = self.artifact.inputs[place]
        return "int" in spec.dtype and _elements(spec) == 1

    def _require_known(self, constants: Iterable[int]) -> None:
        """Refuse an integer of which nobody knows what it counts: generated values would make answers meaningless."""
        for place in constants:
            name = self.artifact.inputs[place].name
            if self._is_number(place) and name not in self.request.given:
                raise IrbenchError(
                    f"It is not known what the input {_described(self.artifact.inputs[place])} of {self.name} counts.",
                    hint=f"Give it a value: --value {name}=1. Or call it past_length or total_length in the file.",
                )

    def _input_name(self, place: int) -> str:
        return self.artifact.inputs[place].name.lower()

    def _described(self, output: int) -> str:
        return _described(self.artifact.outputs[output])

    def _tensors(self) -> str:
        shown = 6
        inputs = [spec.name for spec in self.artifact.inputs]
        outputs = [spec.name for spec in self.artifact.outputs]
        lists = (", ".join(names[:shown]) + (", ..." if len(names) > shown else "") for names in (inputs, outputs))
        return "inputs: {}; outputs: {}".format(*lists)


def _described(spec: TensorSpec) -> str:
    return f"{spec.name} ({spec.dtype}, {shape_text(spec.shape)})"


def _elements(spec: TensorSpec) -> int | None:
    """Return how many elements a tensor has at a batch of one; ``None`` where that is not known."""
    sizes = [1 if size == BATCH else size for size in spec.shape]
    return 1 if all(size == 1 for size in sizes) else None


def _place_in_name(name: str) -> tuple[str, ...]:
    """Return what tells a cache from the others: ``past_key_values.0.key`` and ``present.0.key`` are both 0, key."""
    words = _WORD.findall(name.lower())
    numbers = [word for word in words if word.isdigit()]
    kinds = [word for word in words if not word.isdigit()]
    is_value = "value" in kinds or kinds.count("values") > ("past" in kinds or "present" in kinds)
    own = [word for word in kinds if word not in _CACHE_WORDS]
    return (*numbers, *own, *(("value",) if is_value else ("key",) if "key" in kinds[-1:] else ()))


def _differ(size: int | str, after: int | str) -> bool:
    return size != after and size != BATCH
