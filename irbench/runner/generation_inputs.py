"""What a generation cannot be given: tokens outside of the vocabulary, and more tokens than the model has positions."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np

from irbench.errors import IrbenchError
from irbench.runner.requested_inputs import ModelData
from irbench.spec.generation import GenerationArtifact, GenerationGraph, Given
from irbench.spi import Array
from irbench.worker.model_files import read_positions


def refuse_impossible_generation(data: ModelData, sizes: Mapping[str, int]) -> None:
    """Refuse a generation of which runtimes would read past a table: some fail, and others answer anything.

    Args:
        data: The model and what its inputs are given.
        sizes: Of its dynamic dimensions.

    Raises:
        IrbenchError: A token is not in the vocabulary, or there are more tokens than positions.
    """
    (artifact,) = (form for form in data.bundle.artifacts if form.kind == "onnx")
    if not isinstance(artifact, GenerationArtifact):
        return
    _refuse_unknown_tokens(data, artifact)
    for graph, tokens, read in _readers(artifact, sizes):
        positions = read_positions(graph.artifact.path, tokens)
        if positions is not None and read > positions:
            raise IrbenchError(
                f"The text has {read} tokens in {tokens} of {data.bundle.name}, which has {positions} positions.",
                hint="Give a shorter --prompt or a smaller --generate, or export the model with more positions.",
            )


def _readers(artifact: GenerationArtifact, sizes: Mapping[str, int]) -> Iterator[tuple[GenerationGraph, str, int]]:
    """Yield each graph that reads tokens, its input of them, and how many positions they have."""
    prompt = artifact.inputs[0].bind(sizes).shape[1]
    if isinstance(prompt, int):
        yield artifact.step, artifact.step.tokens.name, prompt + artifact.new_tokens - 1
    if artifact.encoder is None:
        return
    for spec, role in zip(artifact.encoder.artifact.inputs, artifact.encoder.takes, strict=True):
        length = artifact.inputs[role.place].bind(sizes).shape[-1:] if isinstance(role, Given) else ()
        if "int" in spec.dtype and "mask" not in spec.name and length and isinstance(length[0], int):
            yield artifact.encoder, spec.name, length[0]


def _refuse_unknown_tokens(data: ModelData, artifact: GenerationArtifact) -> None:
    vocabulary = artifact.outputs[-1].shape[-1]
    if not isinstance(vocabulary, int):
        return
    for spec in data.bundle.inputs:
        name = spec.tensor.name
        if spec.high != vocabulary or "int" not in spec.tensor.dtype:
            continue
        for place, values in _values_of(data, name):
            wrong = values[(values < 0) | (values >= vocabulary)]
            if wrong.size:
                raise IrbenchError(
                    f"{place} has the token {int(wrong[0])} in {name}, and {data.bundle.name} knows {vocabulary}:"
                    f" 0 to {vocabulary - 1}.",
                    hint="Give tokens of the model's own tokenizer, or leave them out: then they are generated.",
                )


def _values_of(data: ModelData, name: str) -> Iterator[tuple[str, Array]]:
    yield from ((sample.place, sample.arrays[name]) for sample in data.samples if name in sample.arrays)
    if name in data.request.values:
        yield f"--value {name}", np.array(data.request.values[name])
