"""The generation loop of a program: a decoder is called for each token, and its caches are passed from call to call."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from irbench.spec import BATCH, size_of
from irbench.spec.generation import LOGITS, GenerationArtifact, GenerationGraph, Given, Held, Role, cache_shape

_WITH_POSITIONS = 3
"""The rank of scores that are given for each token that was read, and not for the last one alone."""


def named_graphs(artifact: GenerationArtifact) -> dict[str, GenerationGraph]:
    """Return the graphs of a generation by what programs call them, in the order in which they are called."""
    graphs = {"encoder": artifact.encoder, "first": artifact.first, "step": artifact.step}
    return {name: graph for name, graph in graphs.items() if graph is not None}


def decoder_caller(artifact: GenerationArtifact, callers: Mapping[str, str], batch: int) -> str:
    """Return the class ``Caller`` of a program that generates as irbench does: it chooses the most likely token.

    Args:
        artifact: The decoder, and the graphs that are called before it.
        callers: The class that calls each of its graphs, by the graph's name.
        batch: Samples of each call.
    """
    lines = ["class Caller:", *_docstring(artifact), "", "    def __init__(self, model):"]
    lines += [f"        self.{name} = {caller}(model[{name!r}])" for name, caller in callers.items()]
    lines += ["", "    def stage(self, inputs):", "        self.given = inputs", "", "    def run(self):"]
    lines += [f"        {line}" if line else "" for line in _generate(artifact, named_graphs(artifact), batch)]
    lines += ["", "    def fetch(self):", "        return [self.tokens]"]
    return "\n".join(lines)


def _docstring(artifact: GenerationArtifact) -> Iterator[str]:
    yield f'    """Generates {artifact.new_tokens} tokens after each prompt; each thread needs one of its own.'
    yield ""
    yield "    The most likely token is chosen, so that equal prompts give equal texts. The key/value caches"
    yield "    that a call returns are inputs of the next one."
    yield '    """'


def _generate(artifact: GenerationArtifact, named: Mapping[str, GenerationGraph], batch: int) -> Iterator[str]:
    yield f"prompt = self.given[{artifact.inputs[0].name!r}]"
    caches = _empty_caches(named, batch)
    yield "state = {"
    for (shape, dtype), names in caches.items():
        yield f"    **{{name: numpy.zeros({shape}, {dtype!r}) for name in {tuple(names)}}},"
    yield "}  # the key/value caches, which are empty at first" if caches else "}"
    yield "tokens, length = [], 0"
    decoder = {name: graph for name, graph in named.items() if name != "encoder"}
    if artifact.encoder is not None:
        yield "pending = prompt"
        yield from _call("", "encoder", artifact.encoder, artifact, batch)
    if len(decoder) > 1:  # a graph of its own reads the prompt
        yield "pending = prompt"
        yield from _call("", "first", decoder["first"], artifact, batch)
        yield from _choice("", decoder["first"])
    elif artifact.one_by_one:
        yield "unread = numpy.split(prompt, prompt.shape[1], axis=1)  # each call reads one token"
        yield "pending = unread.pop(0)"
    else:
        yield "pending = prompt"
    yield f"while len(tokens) < {artifact.new_tokens}:"
    yield from _call("    ", "step", artifact.step, artifact, batch)
    if artifact.one_by_one:
        yield "    if unread:"
        yield "        length += 1"
        yield "        pending = unread.pop(0)"
        yield "        continue"
    yield from _choice("    ", artifact.step)
    yield "self.tokens = numpy.stack(tokens, axis=1)"


def _empty_caches(
    named: Mapping[str, GenerationGraph], batch: int
) -> dict[tuple[tuple[int, ...], str], dict[str, None]]:
    """Return the states that no earlier call gives, by the shape and the type of the empty ones."""
    empty: dict[tuple[tuple[int, ...], str], dict[str, None]] = {}
    known: set[str | None] = set()
    for graph in named.values():
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
    yield f"{margin}outputs = call(self.{name}, inputs)"
    kept = {own: place for place, own in enumerate(graph.gives) if own not in (None, LOGITS)}
    if kept:
        # decoders with branches leave out what they did not compute again
        condition = " if outputs[place].size" if "branch" in graph.takes else ""
        yield f"{margin}state.update({{name: outputs[place] for name, place in {kept!r}.items(){condition}}})"


def _value(role: Role, artifact: GenerationArtifact, dtype: str, rank: int, sizes: tuple[int, ...]) -> str:
    if isinstance(role, Given):
        source = "prompt" if role.place == 0 else f"self.given[{artifact.inputs[role.place].name!r}]"
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
