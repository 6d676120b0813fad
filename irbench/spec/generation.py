"""Generation: a decoder called token after token, described as a model whose one inference is a whole text."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any, Literal

from irbench.spec.models import Artifact, Bundle
from irbench.spec.tensors import BATCH, InputSpec, TensorSpec, is_named_as_mask, names_in, size_of

PROMPT = "prompt"
"""The dimension of a generation's input that holds the tokens of the prompt."""
CHECKED_LOGITS = 8
"""Of how many tokens all logits are compared with the reference."""
TOP_LOGITS = 256
"""How many of the largest logits are kept of every token, so that it is known how close another choice was."""
GENERATED_OUTPUTS = ("tokens", "top_logits", "top_tokens", "logits")
"""What a generation answers where it is verified, in this order; where it is timed it answers the tokens alone."""


@dataclass(frozen=True)
class CacheTensor:
    """A tensor that a decoder is given, and gives back with what it computed for the new tokens.

    Attributes:
        input: Its place among the decoder's inputs.
        output: Its place among the decoder's outputs.
        axis: The axis along which it grows with each token; ``None`` where its size is fixed.
    """

    input: int
    output: int
    axis: int | None


@dataclass(frozen=True)
class LengthInput:
    """An input of integers that say how many tokens there are: one number, or one for each sample.

    Attributes:
        input: Its place among the decoder's inputs.
        counts: Tokens in the cache before the call (``past``) or after it (``total``), or the place of the last
            (``last``), one less.
    """

    input: int
    counts: Literal["past", "total", "last"]


@dataclass(frozen=True)
class Decoding:
    """Which tensor of a decoder is what, by places among its inputs and outputs.

    Attributes:
        new_tokens: How many tokens are generated.
        tokens: The input of token ids, int of shape (batch, tokens).
        logits: The output with a score for each token of the vocabulary, (batch, tokens, vocabulary).
        mask: The input that says which positions count, (batch, cached and new tokens); ``None`` without one.
        positions: Inputs of the new tokens' positions, (batch, tokens) or (tokens).
        lengths: Inputs that say how many tokens there are.
        branches: Inputs of one boolean: whether the cache holds any tokens.
        constants: Inputs that stay as they are in every call: encodings of another model, for example.
        one_by_one: Whether the decoder takes a single token per call, so that a prompt is read token by token.
    """

    new_tokens: int
    tokens: int
    logits: int
    caches: tuple[CacheTensor, ...]
    mask: int | None = None
    positions: tuple[int, ...] = ()
    lengths: tuple[LengthInput, ...] = ()
    branches: tuple[int, ...] = ()
    constants: tuple[int, ...] = ()
    one_by_one: bool = False


@dataclass(frozen=True)
class GenerationArtifact(Artifact):
    """A decoder's file as a model that takes prompts and answers generated tokens.

    ``inputs`` and ``outputs`` are those of the generation: the prompt and the decoder's constants, and
    :data:`GENERATED_OUTPUTS`. Its file leaves the sizes dynamic that grow.

    Attributes:
        decoder_inputs: What the file itself takes.
        decoder_outputs: What it answers.
        decoding: How it is called.
    """

    decoder_inputs: tuple[TensorSpec, ...] = field(kw_only=True)
    decoder_outputs: tuple[TensorSpec, ...] = field(kw_only=True)
    decoding: Decoding = field(kw_only=True)

    @property
    def decoder(self) -> Artifact:
        """The file as the model that it is."""
        return Artifact(inputs=self.decoder_inputs, outputs=self.decoder_outputs, **_facts_of_file(self))

    @property
    def without_caches(self) -> Artifact:
        """The file as a model that is given no caches and answers none, since a runtime keeps them."""
        taken, given = ({getattr(cache, side) for cache in self.decoding.caches} for side in ("input", "output"))
        inputs = tuple(spec for place, spec in enumerate(self.decoder_inputs) if place not in taken)
        outputs = tuple(spec for place, spec in enumerate(self.decoder_outputs) if place not in given)
        return Artifact(inputs=inputs, outputs=outputs, **_facts_of_file(self))


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
    decoder: Artifact, decoding: Decoding, inputs: tuple[TensorSpec, ...], outputs: tuple[TensorSpec, ...]
) -> GenerationArtifact:
    """Return a decoder as a model of such inputs and outputs."""
    return GenerationArtifact(
        inputs=inputs,
        outputs=outputs,
        decoder_inputs=decoder.inputs,
        decoder_outputs=decoder.outputs,
        decoding=decoding,
        **_facts_of_file(decoder),
    )


def as_generation(decoder: Artifact, like: GenerationArtifact) -> GenerationArtifact:
    """Return another graph of a decoder, one that was optimised for example, called as the first one is."""
    return generation(decoder, like.decoding, like.inputs, like.outputs)


def _facts_of_file(artifact: Artifact) -> dict[str, Any]:
    """Return what an artifact says besides its inputs and outputs, by the names of its fields."""
    return {item.name: getattr(artifact, item.name) for item in fields(Artifact) if item.name not in _SIGNATURE}


_SIGNATURE = ("inputs", "outputs")


def decoder_bundle(bundle: Bundle) -> Bundle:
    """Return a bundle of generations as the decoder that it is; any other bundle as it is."""
    if not any(isinstance(artifact, GenerationArtifact) for artifact in bundle.artifacts):
        return bundle
    decoders = tuple(
        artifact.decoder if isinstance(artifact, GenerationArtifact) else artifact for artifact in bundle.artifacts
    )
    inputs = tuple(InputSpec(spec, 0.0, 1.0, is_named_as_mask(spec.name)) for spec in decoders[0].inputs)
    return replace(bundle, inputs=inputs, artifacts=decoders)


def decoder_sizes(generation: GenerationArtifact, sizes: Mapping[str, int], new: int) -> dict[str, int]:
    """Return a size for each dynamic dimension of a decoder that is given some tokens after a prompt.

    Args:
        generation: The decoder; its dimensions are dynamic still.
        sizes: Of the generation: its batch, its prompt, and whatever its constants have.
        new: How many tokens it is given.
    """
    decoding, inputs = generation.decoding, generation.decoder_inputs
    past = sizes[PROMPT]
    known = {**sizes, **_named(inputs[decoding.tokens].shape[1:], new)}
    for cache in decoding.caches:
        known |= {} if cache.axis is None else _named(inputs[cache.input].shape[cache.axis :][:1], past)
    return known if decoding.mask is None else {**_named(inputs[decoding.mask].shape[1:], past + new), **known}


def _named(shape: Sequence[int | str], size: int) -> dict[str, int]:
    """Return the size of a dimension by its name, where it has a name of its own."""
    return {name: size for name in shape if isinstance(name, str) and names_in(name) == (name,)}
