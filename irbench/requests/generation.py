"""From a decoder's file, and those beside it, to what is generated with it."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from irbench.core.decode_loop import fixed_capacity
from irbench.errors import IrbenchError
from irbench.exporter.foreign import from_onnx_file
from irbench.requests.decoder_signature import CachePair, DecoderSignature
from irbench.spec import RANDOM_DRAWS, Artifact, Bundle, InputSpec, Scalar, TensorSpec, is_named_as_mask
from irbench.spec.generation import (
    CHECKED_LOGITS,
    GENERATED_OUTPUTS,
    LOGITS,
    PROMPT,
    TOP_LOGITS,
    GenerationArtifact,
    GenerationGraph,
    Given,
    Held,
    Role,
    generation,
    is_of_encoder,
)
from irbench.system.file_states import is_file

_FILE_OF_STEPS = re.compile(r"decoder_(?P<kind>with_past_model|model_merged)(?P<form>\w*)", re.ASCII)
"""The decoder that Optimum writes beside others; what follows tells a form of it, ``_quantized`` for example."""


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

    Beside a file ``decoder_with_past_model.onnx`` the file ``decoder_model.onnx`` reads the prompt, and beside that or
    ``decoder_model_merged.onnx`` the file ``encoder_model.onnx`` comes before both, as Optimum calls them.

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
    signature = DecoderSignature(bundle.name, artifact, request.feedback, request.given)
    beside = _beside(Path(bundle.source), request)
    graphs = _Graphs(bundle, signature, beside)
    like = graphs.generation(request.new_tokens)
    _require_capacity(bundle.name, like, max(request.prompts))
    every = tuple(like.with_graphs(_form_of(form, artifact)) for form in bundle.artifacts)
    details = {**beside.draws, **bundle.details}
    return replace(
        bundle,
        inputs=tuple(graphs.inputs),
        artifacts=every,
        reference=None,
        classifier=False,
        class_axes=(),
        details=details,
    )


def _form_of(form: Artifact, graph: Artifact) -> Callable[[GenerationGraph], GenerationGraph]:
    """Return what exchanges a graph for another form of it, and leaves other graphs as they are."""
    return lambda each: each.with_artifact(form) if each.artifact is graph else each


@dataclass(frozen=True)
class _Beside:
    """Graphs in files beside a decoder's, which are called before it; ``None`` where there are none.

    Attributes:
        draws: What draws random numbers in them, among the details of a bundle.
    """

    first: DecoderSignature | None = None
    encoder: Bundle | None = None
    draws: Mapping[str, Scalar] = field(default_factory=dict[str, Scalar])


def _beside(path: Path, request: GenerationRequest) -> _Beside:
    named = _FILE_OF_STEPS.fullmatch(path.stem) if path.suffix == ".onnx" else None
    if named is None:
        return _Beside()
    first, encoder = (path.with_name(f"{stem}{named['form']}.onnx") for stem in ("decoder_model", "encoder_model"))
    reads_prompt = named["kind"] == "with_past_model" and is_file(first)
    bundle = from_onnx_file(first) if reads_prompt else None
    encoding = from_onnx_file(encoder) if is_file(encoder) else None
    details: dict[str, Scalar] = {**(bundle.details if bundle else {}), **(encoding.details if encoding else {})}
    return _Beside(
        None if bundle is None else DecoderSignature(bundle.name, bundle.artifacts[0], given=request.given),
        encoding,
        {key: value for key, value in details.items() if key == RANDOM_DRAWS},
    )


class _Graphs:
    """Collects what the graphs of a generation take and give, and what the generation itself is given.

    Attributes:
        inputs: Of the generation: the prompt of the decoder, and whatever stays as it is.
    """

    def __init__(self, bundle: Bundle, signature: DecoderSignature, beside: _Beside) -> None:
        self._ranges = {spec.tensor.name: spec for spec in bundle.inputs}
        self._signature = signature
        self._beside = beside
        self._encoded = ""
        tokens = signature.artifact.inputs[signature.tokens]
        self._vocabulary = float(signature.vocabulary or 2)
        is_start = self._encodes_tokens
        prompt = replace(tokens, shape=(tokens.shape[0], 1 if is_start else PROMPT), dtype="int64")
        if beside.encoder is not None:
            prompt = replace(prompt, name=f"decoder_{tokens.name.removeprefix('decoder_')}")
        self.inputs = [InputSpec(prompt, 0.0, self._vocabulary)]

    def generation(self, new_tokens: int) -> GenerationArtifact:
        """Return the generation; its inputs are complete then."""
        signature, first = self._signature, self._beside.first
        caches = signature.caches()
        becomes = {} if first is None else self._given_first(first, caches)
        if not (caches or becomes):
            raise self._no_cache()
        held = {pair.input: Held(self._name(pair.input), pair.axis) for pair in caches}
        for place in set(becomes.values()) - held.keys():
            held[place] = Held(self._name(place), signature.encoded_axis(place))
        encoder = self._encoder([signature] if first is None else [signature, first], held)
        step = self._decoder(signature, held, {pair.output: self._name(pair.input) for pair in caches})
        reader = None
        if first is not None:
            reader = self._decoder(first, {}, {output: self._name(place) for output, place in becomes.items()})
        return generation(
            step,
            tuple(spec.tensor for spec in self.inputs),
            _outputs(self.inputs[0].tensor.shape[0], new_tokens, signature.vocabulary),
            new_tokens=new_tokens,
            first=reader,
            encoder=encoder,
            one_by_one=first is None and signature.takes_single_tokens,
        )

    @property
    def _encodes_tokens(self) -> bool:
        encoder = self._beside.encoder
        return encoder is not None and any(map(_are_tokens, encoder.artifacts[0].inputs))

    def _name(self, place: int) -> str:
        return self._signature.artifact.inputs[place].name

    def _given_first(self, first: DecoderSignature, caches: Sequence[CachePair]) -> dict[int, int]:
        names = [spec.name for spec in first.artifact.outputs]
        becomes = first.without_scores(self._signature.given_first(names, [pair.input for pair in caches]))
        if not becomes:
            raise IrbenchError(
                f"{first.name} does not give the caches that {self._signature.name} takes: its outputs are"
                f" {first.tensors()}, and the decoder has {self._signature.tensors()}.",
                hint=f"Export both at once, or move {first.artifact.path.name} away: then the decoder reads the prompt"
                " itself.",
            )
        return becomes

    def _encoder(self, decoders: Sequence[DecoderSignature], held: Mapping[int, Held]) -> GenerationGraph | None:
        """Return the encoder's part; what it answers is held for the decoders' inputs of that name."""
        bundle = self._beside.encoder
        if bundle is None:
            return None
        graph, caches = bundle.artifacts[0], {role.name for role in held.values()}
        wanted = [
            spec.name
            for decoder in decoders
            for spec in decoder.artifact.inputs
            if is_of_encoder(spec.name.lower()) and "float" in spec.dtype and spec.name not in caches
        ]
        names = list(dict.fromkeys(wanted))
        if len(names) != 1:
            raise IrbenchError(
                f"It is not known which input of {self._signature.name} takes the answer of {bundle.name}:"
                f" {', '.join(names) or 'none has a name with encoder'}"
                f" ({decoders[-1].tensors()}).",
                hint=f"Call it encoder_hidden_states in the file, or move {graph.path.name} away.",
            )
        self._encoded = names[0]
        takes = tuple(self._encoders_input(spec) for spec in bundle.inputs)
        return GenerationGraph(graph, takes, (names[0], *(None for _ in graph.outputs[1:])))

    def _encoders_input(self, spec: InputSpec) -> Given:
        """Return an input of the encoder as one of the generation's, where it has the length of the prompt."""
        tensor = spec.tensor
        if _are_tokens(tensor):
            return self._given(InputSpec(_as_long_as_prompt(tensor), 0.0, self._vocabulary))
        if self._encodes_tokens and spec.is_mask:
            return self._given(InputSpec(_as_long_as_prompt(tensor), 1.0, 1.0 + ("int" in tensor.dtype)))
        return self._given(spec)

    def _decoder(
        self, signature: DecoderSignature, held: Mapping[int, Held], becomes: Mapping[int, str]
    ) -> GenerationGraph:
        outputs = {signature.logits: LOGITS, **becomes}
        takes: tuple[Role, ...] = tuple(
            "tokens" if place == signature.tokens else held.get(place) or self._role(signature, place)
            for place in range(len(signature.artifact.inputs))
        )
        gives = tuple(outputs.get(place) for place in range(len(signature.artifact.outputs)))
        return GenerationGraph(signature.artifact, takes, gives)

    def _role(self, signature: DecoderSignature, place: int) -> Role:
        spec = signature.artifact.inputs[place]
        if spec.name == self._encoded:
            return Held(spec.name)
        return signature.role(place) or self._given(self._ranges.get(spec.name) or InputSpec(spec))

    def _given(self, spec: InputSpec) -> Given:
        """Return the place of an input of the generation, which is added unless there is one of that name.

        A decoder's ``encoder_attention_mask`` is the ``attention_mask`` of its encoder.
        """
        names = [known.tensor.name for known in self.inputs]
        name = spec.tensor.name
        for candidate in (name, name.removeprefix("encoder_")):
            if candidate in names[1:]:
                return Given(names.index(candidate, 1))
        self.inputs.append(spec)
        return Given(len(names))

    def _no_cache(self) -> IrbenchError:
        signature = self._signature
        with_past = signature.artifact.path.with_name("decoder_with_past_model.onnx")
        way = (
            f"Name the decoder that takes it, beside this one: {with_past}"
            if signature.artifact.path.stem == "decoder_model" and is_file(with_past)
            else "Export the decoder with its past keys and values as inputs and outputs, or name them:"
            " --feedback present=past."
        )
        return IrbenchError(
            f"{signature.name} has no cache: no output could be fed back to an input ({signature.tensors()}).", hint=way
        )


def _are_tokens(spec: TensorSpec) -> bool:
    return "int" in spec.dtype and len(spec.shape) == 2 and not is_named_as_mask(spec.name)


def _as_long_as_prompt(spec: TensorSpec) -> TensorSpec:
    return replace(spec, shape=(spec.shape[0], PROMPT))


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


def _require_capacity(name: str, artifact: GenerationArtifact, prompt: int) -> None:
    new_tokens = artifact.new_tokens
    capacity, needed = fixed_capacity(artifact), prompt + new_tokens - 1
    if capacity is not None and needed > capacity:
        raise IrbenchError(
            f"A prompt of {prompt} tokens and {new_tokens} generated ones need {needed} places in"
            f" the cache of {name}, which has {capacity}.",
            hint="Give a shorter --prompt or a smaller --generate, or export the model with a larger cache.",
        )
