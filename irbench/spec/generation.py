"""Generation: a decoder called token after token, described as a model whose one inference is a whole text."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any, Literal, Self, TypeAlias

from irbench.spec.models import Artifact, Bundle
from irbench.spec.tensors import BATCH, InputSpec, TensorSpec, is_named_as_mask, names_in, size_of

PROMPT = "prompt"
"""The dimension of a generation's inputs that holds the tokens of the prompt."""
LOGITS = "logits"
"""What the output with a score for each token becomes: the choice of the next one."""
CHECKED_LOGITS = 8
"""Of how many tokens all logits are compared with the reference."""
TOP_LOGITS = 256
"""How many of the largest logits are kept of every token, so that it is known how close another choice was."""
GENERATED_OUTPUTS = ("tokens", "top_logits", "top_tokens", "logits")
"""What a generation answers where it is verified, in this order; where it is timed it answers the tokens alone."""


@dataclass(frozen=True)
class Given:
    """An input of a graph that is one of the generation's inputs, the same in every call.

    Attributes:
        place: Its place among the inputs of the generation.
    """

    place: int


@dataclass(frozen=True)
class Held:
    """An input of a graph that an earlier call gave: a cache, or what an encoder answered.

    Attributes:
        name: What it is called from call to call.
        axis: Along which a cache grows, which begins with size 0 there; ``None`` where its size is fixed.
    """

    name: str
    axis: int | None = None


Counter: TypeAlias = Literal["past", "total", "last"]
"""What an integer counts: tokens in the cache before the call or after it, or the place of the last, one less."""
Role: TypeAlias = Literal["tokens", "mask", "positions", "branch"] | Counter | Given | Held
"""What an input of a graph is.

The new tokens, (batch, tokens); which positions count, (batch, cached and new tokens); the positions of the new tokens,
(batch, tokens) or (tokens); whether the cache holds any tokens, one boolean; one integer, or one for each sample.
"""


@dataclass(frozen=True)
class CacheTensor:
    """A cache of a graph.

    Attributes:
        input: What a call is given.
        output: What it answers, which the next call is given.
        axis: Along which it grows with each token; ``None`` where its size is fixed.
    """

    input: TensorSpec
    output: TensorSpec
    axis: int | None


@dataclass(frozen=True)
class GenerationGraph:
    """A graph that a generation calls.

    Attributes:
        artifact: Its file, with what that takes and gives.
        takes: What each of its inputs is.
        gives: What each of its outputs becomes: the state of that name, :data:`LOGITS`, or ``None`` where it is unread.
    """

    artifact: Artifact
    takes: tuple[Role, ...]
    gives: tuple[str | None, ...]

    def inputs_of(self, role: Role) -> Iterator[TensorSpec]:
        """Yield the inputs that have a role."""
        return (spec for spec, taken in zip(self.artifact.inputs, self.takes, strict=True) if taken == role)

    @property
    def tokens(self) -> TensorSpec:
        """The input of token ids."""
        return next(self.inputs_of("tokens"))

    @property
    def caches(self) -> tuple[CacheTensor, ...]:
        """Its inputs that become outputs of it, in the order of the inputs."""
        outputs = dict(zip(self.gives, self.artifact.outputs, strict=True))
        return tuple(
            CacheTensor(spec, outputs[role.name], role.axis) for spec, role in self.held if role.name in outputs
        )

    @property
    def without_caches(self) -> GenerationGraph:
        """This graph where calls are given no caches and answer none, since a runtime keeps them."""
        own = {cache.input for cache in self.caches}
        names = {role.name for spec, role in self.held if spec in own}
        taken = [each for each in zip(self.artifact.inputs, self.takes, strict=True) if each[0] not in own]
        given = [each for each in zip(self.artifact.outputs, self.gives, strict=True) if each[1] not in names]
        artifact = replace(
            self.artifact, inputs=tuple(spec for spec, _ in taken), outputs=tuple(spec for spec, _ in given)
        )
        return GenerationGraph(artifact, tuple(role for _, role in taken), tuple(name for _, name in given))

    @property
    def held(self) -> Iterator[tuple[TensorSpec, Held]]:
        """The inputs that earlier calls gave."""
        pairs = zip(self.artifact.inputs, self.takes, strict=True)
        return ((spec, role) for spec, role in pairs if isinstance(role, Held))

    def with_artifact(self, artifact: Artifact) -> GenerationGraph:
        """Return another form of this graph, one that was optimised for example."""
        return replace(self, artifact=artifact)


@dataclass(frozen=True)
class GenerationArtifact(Artifact):
    """A decoder's file, and those that are called before it, as a model that takes prompts and answers tokens.

    ``inputs`` and ``outputs`` are those of the generation: the prompt and what stays as it is in every call, and
    :data:`GENERATED_OUTPUTS`. All else is that of the file of ``step``. The files leave the sizes dynamic that grow.

    Attributes:
        new_tokens: How many tokens are generated.
        step: Called for each token.
        first: Called once with the prompt; ``None`` where ``step`` reads it into empty caches.
        encoder: Called once before all others; ``None`` where nothing is encoded.
        one_by_one: Whether ``step`` reads the prompt token by token, because it takes a single token per call.
    """

    new_tokens: int = field(kw_only=True)
    step: GenerationGraph = field(kw_only=True)
    first: GenerationGraph | None = None
    encoder: GenerationGraph | None = None
    one_by_one: bool = False

    @property
    def graphs(self) -> tuple[GenerationGraph, ...]:
        """All graphs, in the order in which they are called."""
        return tuple(graph for graph in (self.encoder, self.first, self.step) if graph is not None)

    def with_graphs(self, change: Callable[[GenerationGraph], GenerationGraph]) -> Self:
        """Return the same generation with other forms of its graphs."""
        encoder, first = (None if graph is None else change(graph) for graph in (self.encoder, self.first))
        step = change(self.step)
        return replace(self, **_facts_of_file(step.artifact), step=step, first=first, encoder=encoder)


def cache_shape(spec: TensorSpec, axis: int | None, batch: int, length: int = 0) -> tuple[int, ...]:
    """Return the shape of a cache that holds some tokens.

    Args:
        spec: The decoder's input.
        axis: The one along which it grows; ``None`` where its size is fixed.
        batch: How many samples it is for.
        length: How many tokens it holds; without meaning where its size is fixed.

    Raises:
        ValueError: Another dimension has no size.
    """
    sizes = [length if place == axis else size_of(size, {BATCH: batch}) for place, size in enumerate(spec.shape)]
    unknown = [str(size) for size, known in zip(spec.shape, sizes, strict=True) if known is None]
    if unknown:
        raise ValueError(f"the cache {spec.name} has the dimension {unknown[0]} of unknown size")
    return tuple(size or 0 for size in sizes)


def generation(
    step: GenerationGraph, inputs: tuple[TensorSpec, ...], outputs: tuple[TensorSpec, ...], **facts: Any
) -> GenerationArtifact:
    """Return a decoder as a model of such inputs and outputs.

    Args:
        step: The graph that is called for each token.
        inputs: Of the generation.
        outputs: Of the generation.
        facts: The other fields of :class:`GenerationArtifact`.
    """
    return GenerationArtifact(inputs=inputs, outputs=outputs, step=step, **facts, **_facts_of_file(step.artifact))


def _facts_of_file(artifact: Artifact) -> dict[str, Any]:
    """Return what an artifact says besides its inputs and outputs, by the names of its fields."""
    return {item.name: getattr(artifact, item.name) for item in fields(Artifact) if item.name not in _SIGNATURE}


_SIGNATURE = ("inputs", "outputs")


def new_tokens_of(artifact: Artifact) -> int | None:
    """Return how many tokens an inference generates; ``None`` where it generates none."""
    return artifact.new_tokens if isinstance(artifact, GenerationArtifact) else None


def artifacts_of(artifact: Artifact) -> tuple[Artifact, ...]:
    """Return the artifacts that are compiled: those of a generation's graphs, or the artifact itself."""
    if isinstance(artifact, GenerationArtifact):
        return tuple(graph.artifact for graph in artifact.graphs)
    return (artifact,)


def graph_bundle(bundle: Bundle, graph: GenerationGraph) -> Bundle:
    """Return a graph of a bundle of generations as a model of its own."""
    artifact = graph.artifact
    inputs = tuple(InputSpec(spec, 0.0, 1.0, is_named_as_mask(spec.name)) for spec in artifact.inputs)
    return replace(bundle, inputs=inputs, artifacts=(artifact,))


def graph_sizes(
    generation: GenerationArtifact, graph: GenerationGraph, sizes: Mapping[str, int], new: int
) -> dict[str, int]:
    """Return a size for the dynamic dimensions of one graph of a generation; those that nothing tells are left out.

    Args:
        generation: What the graph is called in.
        graph: Its dimensions are dynamic still.
        sizes: Of the generation: its batch, its prompt, and whatever its other inputs have.
        new: How many tokens a decoder is given.
    """
    past = 0 if graph is generation.first else sizes[PROMPT]
    encoded = _encoded_length(generation, sizes)
    known = dict(sizes)
    for spec, role in zip(graph.artifact.inputs, graph.takes, strict=True):
        if isinstance(role, Given):
            bound = generation.inputs[role.place].bind(sizes).shape
            for name, size in zip(spec.shape, bound, strict=True):
                known |= _named([name], size)
        elif isinstance(role, Held) and is_of_encoder(role.name):
            known |= _named(spec.shape[role.axis or 1 :][:1], encoded)
        elif isinstance(role, Held) and role.axis is not None:
            known |= _named(spec.shape[role.axis :][:1], past)
        elif role == "tokens":
            known |= _named(spec.shape[1:], new)
    for spec in graph.inputs_of("mask"):
        known = {**_named(spec.shape[1:], past + new), **known}
    return known


def is_of_encoder(name: str) -> bool:
    """Whether a state is what an encoder answered, or was computed from that alone: its size does not grow."""
    return "encoder" in name.replace("decoder", "")


def _encoded_length(generation: GenerationArtifact, sizes: Mapping[str, int]) -> int | None:
    """Return how many positions an encoder answers; ``None`` where that is not known."""
    if generation.encoder is None:
        named = (spec for spec in generation.inputs if is_of_encoder(spec.name) and len(spec.shape) > 1)
        spec = next(named, None)
    else:
        known = graph_sizes(replace(generation, encoder=None), generation.encoder, sizes, 1)
        spec = generation.encoder.artifact.outputs[0].bind(known)
    size = None if spec is None else spec.bind(sizes).shape[1]
    return size if isinstance(size, int) else None


def _named(shape: Sequence[int | str], size: int | str | None) -> dict[str, int]:
    """Return the size of a dimension by its name, where it has a name of its own and the size is known."""
    if not isinstance(size, int):
        return {}
    return {name: size for name in shape if isinstance(name, str) and names_in(name) == (name,)}
