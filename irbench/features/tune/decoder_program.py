"""Python that generates with a tuned decoder, without irbench: its graphs compiled, and the loop that calls them."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Mapping, Sequence

from irbench.spec import BATCH, size_of
from irbench.spec.generation import LOGITS, GenerationArtifact, GenerationGraph, Given, Held, Role, cache_shape
from irbench.spi import Usage

_WITH_POSITIONS = 3
"""The rank of scores that are given for each token that was read, and not for the last one alone."""
_NAMES = ("encoder", "first", "step")


def decoder_program(
    artifact: GenerationArtifact, sizes: Mapping[str, int], usages: Sequence[Usage], streams: int
) -> str:
    """Return a program that generates as irbench does: it chooses the most likely token, and passes caches on.

    Args:
        artifact: The decoder, and the graphs that are called before it.
        sizes: Of its prompt and of whatever else it is given.
        usages: How each of its graphs is called, in their order.
        streams: How many texts are generated at a time.
    """
    named = [(name, graph) for name in _NAMES if (graph := getattr(artifact, name)) is not None]
    parts = ["\n".join(("import numpy", *_needed_imports(artifact, streams)))]
    parts += [_compiled(name, usage) for (name, _), usage in zip(named, usages, strict=True)]
    parts += ["\n".join(_generate(artifact, named, sizes[BATCH])), "\n".join(_calls(artifact, sizes, streams))]
    return "\n\n\n".join(parts)


def _needed_imports(artifact: GenerationArtifact, streams: int) -> Iterator[str]:
    if any(spec.dtype == "bfloat16" for graph in artifact.graphs for spec in graph.artifact.inputs):
        yield "import ml_dtypes  # NumPy knows bfloat16 from it"
    if streams > 1:
        yield "from concurrent.futures import ThreadPoolExecutor"


def _compiled(name: str, usage: Usage) -> str:
    """Return a function that compiles a graph: what it returns makes callers, of which each thread needs one."""
    call = f"def call(inputs):\n{_indented(usage.call)}\n    return outputs"
    caller = "\n".join(part for part in (usage.caller, call, "return call") if part)
    body = f"{usage.setup}\n\ndef caller():\n{_indented(caller)}\n\nreturn caller"
    return f"def compiled_{name}():\n{_indented(body)}\n\n\n{name}_caller = compiled_{name}()"


def _indented(text: str) -> str:
    return textwrap.indent(text, "    ")


def _generate(artifact: GenerationArtifact, named: Sequence[tuple[str, GenerationGraph]], batch: int) -> Iterator[str]:
    constants = len(artifact.inputs) > 1
    yield f"def generate(prompt{', given' if constants else ''}):"
    yield '    """Return the tokens that follow a prompt, int64 of shape (batch, new tokens)."""'
    for name, _ in named:
        yield f"    {name} = {name}_caller()"
    yield "    state = {"
    for (shape, dtype), names in _empty_caches(named, batch).items():
        yield f"        **{{name: numpy.zeros({shape}, {dtype!r}) for name in {tuple(names)}}},"
    yield "    }"
    yield "    tokens, length = [], 0"
    decoder = [each for each in named if each[0] != "encoder"]
    if artifact.encoder is not None:
        yield "    pending = prompt"
        yield from _call("    ", "encoder", artifact.encoder, artifact, batch)
    if len(decoder) > 1:  # a graph of its own reads the prompt
        yield "    pending = prompt"
        yield from _call("    ", "first", decoder[0][1], artifact, batch)
        yield from _choice("    ", decoder[0][1])
    elif artifact.one_by_one:
        yield "    unread = numpy.split(prompt, prompt.shape[1], axis=1)"
        yield "    pending = unread.pop(0)"
    else:
        yield "    pending = prompt"
    yield f"    while len(tokens) < {artifact.new_tokens}:"
    yield from _call("        ", "step", artifact.step, artifact, batch)
    if artifact.one_by_one:
        yield "        if unread:"
        yield "            length += 1"
        yield "            pending = unread.pop(0)"
        yield "            continue"
    yield from _choice("        ", artifact.step)
    yield "    return numpy.stack(tokens, axis=1)"


def _empty_caches(
    named: Sequence[tuple[str, GenerationGraph]], batch: int
) -> dict[tuple[tuple[int, ...], str], dict[str, None]]:
    """Return the states that no earlier call gives, by the shape and the type of the empty ones."""
    empty: dict[tuple[tuple[int, ...], str], dict[str, None]] = {}
    known: set[str | None] = set()
    for _, graph in named:
        for spec, role in graph.held:
            if role.name not in known:
                empty.setdefault((cache_shape(spec, role.axis, batch), spec.dtype), {})[role.name] = None
        known.update(graph.gives)
    return empty


def _call(margin: str, name: str, graph: GenerationGraph, artifact: GenerationArtifact, batch: int) -> Iterator[str]:
    held = {spec.name: role.name for spec, role in graph.held}
    yield f"{margin}new = pending.shape[1]"
    yield f"{margin}inputs = {{"
    for spec, role in zip(graph.artifact.inputs, graph.takes, strict=True):
        if not isinstance(role, Held):
            rank, sizes = len(spec.shape), tuple(size_of(size, {BATCH: batch}) or 1 for size in spec.shape)
            yield f"{margin}    {spec.name!r}: {_value(role, artifact, spec.dtype, rank, sizes)},"
    if held:
        pairs = tuple(held) if list(held) == list(held.values()) else held
        reading = f"name: state[name] for name in {pairs!r}"
        if isinstance(pairs, dict):
            reading = f"name: state[kept] for name, kept in {pairs!r}.items()"
        yield f"{margin}    **{{{reading}}},"
    yield f"{margin}}}"
    yield f"{margin}outputs = {name}(inputs)"
    kept = {own: place for place, own in enumerate(graph.gives) if own not in (None, LOGITS)}
    if kept:
        # decoders with branches leave out what they did not compute again
        condition = " if outputs[place].size" if "branch" in graph.takes else ""
        yield f"{margin}state.update({{name: outputs[place] for name, place in {kept!r}.items(){condition}}})"


def _value(role: Role, artifact: GenerationArtifact, dtype: str, rank: int, sizes: tuple[int, ...]) -> str:
    if isinstance(role, Given):
        source = "prompt" if role.place == 0 else f"given[{artifact.inputs[role.place].name!r}]"
        return f"{source}.astype({dtype!r})"
    if role == "tokens":
        return f"pending.astype({dtype!r})"
    if role == "mask":
        return f"numpy.ones((pending.shape[0], length + new), {dtype!r})"
    if role == "positions":
        positions = f"numpy.arange(length, length + new, dtype={dtype!r})"
        return positions if rank == 1 else f"numpy.tile({positions}, (pending.shape[0], 1))"
    counted = {"branch": "length > 0", "past": "length", "total": "length + new", "last": "length + new - 1"}
    return f"numpy.full({sizes}, {counted[str(role)]}, {dtype!r})"


def _choice(margin: str, graph: GenerationGraph) -> Iterator[str]:
    place = graph.gives.index(LOGITS)
    has_positions = len(graph.artifact.outputs[place].shape) == _WITH_POSITIONS
    yield f"{margin}scores = outputs[{place}]{'[:, -1]' if has_positions else ''}"
    yield f"{margin}length += new"
    yield f"{margin}tokens.append(scores.argmax(axis=-1))"
    yield f"{margin}pending = tokens[-1][:, numpy.newaxis]"


def _calls(artifact: GenerationArtifact, sizes: Mapping[str, int], streams: int) -> Iterator[str]:
    prompt, *others = (spec.bind(sizes) for spec in artifact.inputs)
    several = "of each, " if streams > 1 else ""
    yield f"# prompt{'s' if several else ''}: {several}token ids, {prompt.dtype} of shape {prompt.shape}"
    for spec in others:
        yield f"# given[{spec.name!r}]: {spec.dtype} of shape {spec.shape}"
    given = ", given" if others else ""
    if streams == 1:
        yield f"tokens = generate(prompt{given})"
        return
    yield f"with ThreadPoolExecutor({streams}) as callers:"
    yield f"    tokens = list(callers.map(lambda prompt: generate(prompt{given}), prompts))"
