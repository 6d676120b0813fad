"""What the tensors of a decoder are, by their names and shapes."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from decoders import VOCABULARY, write_decoder, write_encoder_and_decoder, write_pair
from onnx.reference import ReferenceEvaluator

from irbench.core.decode_loop import DecodeLoop
from irbench.errors import IrbenchError
from irbench.exporter.foreign import from_onnx_file
from irbench.requests.generation import GenerationRequest, generations
from irbench.spec import Artifact, Bundle, InputSpec, TensorSpec
from irbench.spec.generation import GENERATED_OUTPUTS, GenerationArtifact, Given, Held, graph_bundle, graph_sizes

IDS = TensorSpec("input_ids", "int64", ("batch", "tokens"))
LOGITS = TensorSpec("logits", "float32", ("batch", "tokens", 50))


def cache(name: str, length: int | str = "past", dtype: str = "float32") -> TensorSpec:
    return TensorSpec(name, dtype, ("batch", 4, length, 8))


def decoder(inputs: Sequence[TensorSpec], outputs: Sequence[TensorSpec]) -> Bundle:
    artifact = Artifact("onnx", Path("decoder.onnx"), tuple(inputs), tuple(outputs))
    return Bundle("decoder", tuple(map(InputSpec, inputs)), (artifact,))


def generation(bundle: Bundle, prompt: int = 4, new_tokens: int = 3, **feedback: str) -> GenerationArtifact:
    (made,) = generations([bundle], GenerationRequest(new_tokens, [prompt], feedback))
    (artifact,) = made.artifacts
    assert isinstance(artifact, GenerationArtifact)
    return artifact


@pytest.mark.parametrize(
    ("past", "present"),
    [
        (("past_key_values.0.key", "past_key_values.0.value"), ("present.0.key", "present.0.value")),
        (("past_0_key", "past_0_value"), ("present_0_key", "present_0_value")),
        (("past_key_0", "past_value_0"), ("present_key_0", "present_value_0")),
        (("k_cache_7", "v_cache_7"), ("k_cache_out_7", "v_cache_out_7")),
        (("in1", "in2"), ("getitem_5", "getitem_9")),
    ],
)
def test_caches_are_paired_by_their_names_and_else_by_their_places(
    past: tuple[str, str], present: tuple[str, str]
) -> None:
    outputs = [LOGITS, *(cache(name, "past + tokens") for name in present)]
    artifact = generation(decoder([IDS, *map(cache, past)], outputs))
    assert artifact.step.takes[1:] == (Held(past[0], 2), Held(past[1], 2))
    assert artifact.step.gives == ("logits", *past)


def test_names_count_more_than_places() -> None:
    inputs = [cache("past.0.value"), IDS, cache("past.0.key")]
    outputs = [cache("present.0.key", "all"), LOGITS, cache("present.0.value", "all")]
    assert generation(decoder(inputs, outputs)).step.gives == ("past.0.key", "logits", "past.0.value")


def test_masks_positions_lengths_branches_and_constants_are_told_apart() -> None:
    inputs = [
        IDS,
        TensorSpec("attention_mask", "int64", ("batch", "all")),
        TensorSpec("position_ids", "int64", ("batch", "tokens")),
        TensorSpec("cache_position", "int64", ("tokens",)),
        TensorSpec("past_length", "int64", ()),
        TensorSpec("use_cache_branch", "bool", (1,)),
        TensorSpec("encoder_hidden_states", "float32", ("batch", "encoded", 16)),
        cache("past.0.key"),
    ]
    found = generation(decoder(inputs, [LOGITS, cache("present.0.key", "all")])).step.takes
    assert found[:6] == ("tokens", "mask", "positions", "positions", "past", "branch")
    assert found[6:] == (Given(1), Held("past.0.key", 2))


def test_a_generation_takes_the_prompt_and_the_constants_and_answers_tokens() -> None:
    encoded = TensorSpec("encoder_hidden_states", "float32", ("batch", "encoded", 16))
    bundle = decoder([IDS, encoded, cache("past.0.key")], [LOGITS, cache("present.0.key", "all")])
    (made,) = generations([bundle], GenerationRequest(3, [4]))
    names = [spec.tensor.name for spec in made.inputs]
    assert names == ["input_ids", "encoder_hidden_states"]
    assert made.inputs[0].high == 50, "prompts are drawn from the vocabulary"
    assert tuple(spec.name for spec in made.artifacts[0].outputs) == GENERATED_OUTPUTS
    (artifact,) = made.artifacts
    assert isinstance(artifact, GenerationArtifact)
    assert graph_bundle(made, artifact.step).artifacts == bundle.artifacts


def test_a_decoder_of_single_tokens_reads_its_prompt_token_by_token() -> None:
    single = TensorSpec("input_ids", "int64", ("batch", 1))
    artifact = generation(decoder([single, cache("past.0.key")], [LOGITS, cache("present.0.key", "all")]))
    assert artifact.one_by_one


def test_a_cache_of_fixed_size_holds_so_many_tokens_and_no_more() -> None:
    inputs = [IDS, cache("past.0.key", 16), TensorSpec("cache_position", "int64", ("tokens",))]
    bundle = decoder(inputs, [LOGITS, cache("present.0.key", 16)])
    assert generation(bundle, prompt=13, new_tokens=4).step.takes[1] == Held("past.0.key")
    with pytest.raises(IrbenchError, match="need 17 places in the cache of decoder, which has 16"):
        generation(bundle, prompt=14, new_tokens=4)


def test_pairs_that_are_named_are_the_caches() -> None:
    inputs = [IDS, cache("a"), cache("b")]
    outputs = [LOGITS, cache("x", "all"), cache("y", "all")]
    assert generation(decoder(inputs, outputs), a="y", b="x").step.gives == ("logits", "b", "a")


@pytest.mark.parametrize(
    ("inputs", "outputs", "feedback", "named"),
    [
        ([IDS], [LOGITS], {}, "no cache"),
        ([cache("past.0.key")], [LOGITS, cache("present.0.key")], {}, "no input of tokens"),
        ([IDS, cache("past.0.key")], [cache("present.0.key")], {}, "no output of scores"),
        ([IDS, cache("past.0.key")], [LOGITS, cache("present.0.key", dtype="float16")], {}, "no cache"),
        ([IDS, cache("past.0.key")], [LOGITS, cache("p", dtype="float16")], {"past.0.key": "p"}, "cannot become"),
        ([IDS, cache("past.0.key")], [LOGITS, cache("p")], {"past": "p"}, "no such pair"),
    ],
)
def test_what_is_no_decoder_with_a_cache_is_refused_by_the_names_of_its_tensors(
    inputs: Sequence[TensorSpec], outputs: Sequence[TensorSpec], feedback: dict[str, str], named: str
) -> None:
    with pytest.raises(IrbenchError, match=named) as refused:
        generations([decoder(inputs, outputs)], GenerationRequest(3, [4], feedback))
    assert refused.value.hint
    assert inputs[0].name in refused.value.message or outputs[0].name in refused.value.message or feedback


@pytest.mark.parametrize(
    ("name", "shape", "counts"),
    [
        ("past_sequence_length", (), "past"),
        ("cache_update_index", (1,), "past"),
        ("total_sequence_length", (), "total"),
        ("seqlens_k", ("batch",), "last"),
    ],
)
def test_what_an_integer_counts_is_told_by_its_name(name: str, shape: tuple[int | str, ...], counts: str) -> None:
    inputs = [IDS, TensorSpec(name, "int32", shape), cache("past.0.key")]
    assert generation(decoder(inputs, [LOGITS, cache("present.0.key", "all")])).step.takes[1] == counts


def test_an_integer_that_counts_something_unknown_needs_a_value() -> None:
    inputs = [IDS, TensorSpec("num_logits_to_keep", "int64", ()), cache("past.0.key")]
    bundle = decoder(inputs, [LOGITS, cache("present.0.key", "all")])
    with pytest.raises(IrbenchError, match="num_logits_to_keep") as refused:
        generations([bundle], GenerationRequest(3, [4]))
    assert "--value num_logits_to_keep=1" in refused.value.hint
    (made,) = generations([bundle], GenerationRequest(3, [4], given=["num_logits_to_keep"]))
    assert [spec.tensor.name for spec in made.inputs] == ["input_ids", "num_logits_to_keep"]


@pytest.mark.ci
def test_a_file_of_steps_comes_with_the_file_beside_it_that_reads_the_prompt(tmp_path: Path) -> None:
    made = generation(from_onnx_file(write_pair(tmp_path)))
    assert [graph.artifact.path.name for graph in made.graphs] == ["decoder_model.onnx", "decoder_with_past_model.onnx"]
    assert made.first is not None
    assert {name for name in made.first.gives if name != "logits"} == {role.name for _, role in made.step.held}


@pytest.mark.ci
def test_two_files_of_a_decoder_generate_what_one_file_does(tmp_path: Path) -> None:
    single = generation(from_onnx_file(write_decoder(tmp_path / "decoder.onnx")), new_tokens=6)
    pair = generation(from_onnx_file(write_pair(tmp_path)), new_tokens=6)
    of_one, of_two = (answers(artifact, np.array([[3, 1, 4, 1]])) for artifact in (single, pair))
    for one, two in zip(of_one, of_two, strict=True):
        np.testing.assert_allclose(one, two, rtol=1e-4, atol=1e-4)
    *_, logits = of_one
    assert np.abs(np.diff(logits, axis=1)).max() > 0.01, "what was cached changes the scores"


def answers(artifact: GenerationArtifact, *feed: np.ndarray) -> tuple[np.ndarray, ...]:
    evaluators = [ReferenceEvaluator(str(graph.artifact.path)) for graph in artifact.graphs]
    loop = DecodeLoop(artifact)
    loop.begin(feed, keeps_logits=True)
    while not loop.is_done:
        values, inputs = loop.next(), artifact.graphs[loop.place].artifact.inputs
        named = {spec.name: value for spec, value in zip(inputs, values, strict=True)}
        loop.take(tuple(evaluators[loop.place].run(None, named)))
    return loop.answers()


@pytest.mark.ci
def test_an_encoder_beside_it_reads_the_prompt_and_the_decoder_begins_with_one_token(tmp_path: Path) -> None:
    (bundle,) = generations([from_onnx_file(write_encoder_and_decoder(tmp_path))], GenerationRequest(3, [4]))
    assert [(spec.tensor.name, spec.tensor.shape, spec.high) for spec in bundle.inputs] == [
        ("decoder_input_ids", ("batch", 1), VOCABULARY),
        ("input_ids", ("batch", "prompt"), VOCABULARY),
    ]
    (artifact,) = bundle.artifacts
    assert isinstance(artifact, GenerationArtifact)
    sizes = [graph_sizes(artifact, graph, {"batch": 2, "prompt": 9}, new=4) for graph in artifact.graphs]
    assert [each["encoded"] for each in sizes] == [9, 9, 9]
    assert (sizes[1]["tokens"], sizes[2]["tokens"]) == (4, 4)


@pytest.mark.ci
def test_a_file_that_reads_the_prompt_is_refused_alone_and_the_other_is_named(tmp_path: Path) -> None:
    write_pair(tmp_path)
    with pytest.raises(IrbenchError, match="no cache") as refused:
        generations([from_onnx_file(tmp_path / "decoder_model.onnx")], GenerationRequest(3, [4]))
    assert "decoder_with_past_model.onnx" in refused.value.hint


@pytest.mark.ci
def test_files_of_different_decoders_are_refused_by_the_names_of_their_tensors(tmp_path: Path) -> None:
    with_past = write_pair(tmp_path)
    write_decoder(tmp_path / "decoder_model.onnx", layers=1, first=True)
    with pytest.raises(IrbenchError, match=r"present\.0\.key") as refused:
        generations([from_onnx_file(with_past)], GenerationRequest(3, [4]))
    assert "decoder_model.onnx" in refused.value.hint
