"""What the tensors of a decoder are, by their names and shapes."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from irbench.errors import IrbenchError
from irbench.requests.generation import GenerationRequest, generations
from irbench.spec import Artifact, Bundle, InputSpec, TensorSpec
from irbench.spec.generation import GENERATED_OUTPUTS, CacheTensor, GenerationArtifact, LengthInput, decoder_bundle

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
    assert artifact.decoding.caches == (CacheTensor(1, 1, 2), CacheTensor(2, 2, 2))


def test_names_count_more_than_places() -> None:
    inputs = [cache("past.0.value"), IDS, cache("past.0.key")]
    outputs = [cache("present.0.key", "all"), LOGITS, cache("present.0.value", "all")]
    assert generation(decoder(inputs, outputs)).decoding.caches == (CacheTensor(0, 2, 2), CacheTensor(2, 0, 2))


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
    found = generation(decoder(inputs, [LOGITS, cache("present.0.key", "all")])).decoding
    assert (found.tokens, found.mask, found.positions, found.lengths) == (0, 1, (2, 3), (LengthInput(4, "past"),))
    assert (found.branches, found.constants) == ((5,), (6,))


def test_a_generation_takes_the_prompt_and_the_constants_and_answers_tokens() -> None:
    encoded = TensorSpec("encoder_hidden_states", "float32", ("batch", "encoded", 16))
    bundle = decoder([IDS, encoded, cache("past.0.key")], [LOGITS, cache("present.0.key", "all")])
    (made,) = generations([bundle], GenerationRequest(3, [4]))
    names = [spec.tensor.name for spec in made.inputs]
    assert names == ["input_ids", "encoder_hidden_states"]
    assert made.inputs[0].high == 50, "prompts are drawn from the vocabulary"
    assert tuple(spec.name for spec in made.artifacts[0].outputs) == GENERATED_OUTPUTS
    assert decoder_bundle(made).artifacts == bundle.artifacts


def test_a_decoder_of_single_tokens_reads_its_prompt_token_by_token() -> None:
    single = TensorSpec("input_ids", "int64", ("batch", 1))
    artifact = generation(decoder([single, cache("past.0.key")], [LOGITS, cache("present.0.key", "all")]))
    assert artifact.decoding.one_by_one


def test_a_cache_of_fixed_size_holds_so_many_tokens_and_no_more() -> None:
    inputs = [IDS, cache("past.0.key", 16), TensorSpec("cache_position", "int64", ("tokens",))]
    bundle = decoder(inputs, [LOGITS, cache("present.0.key", 16)])
    assert generation(bundle, prompt=13, new_tokens=4).decoding.caches[0].axis is None
    with pytest.raises(IrbenchError, match="need 17 places in the cache of decoder, which has 16"):
        generation(bundle, prompt=14, new_tokens=4)


def test_pairs_that_are_named_are_the_caches() -> None:
    inputs = [IDS, cache("a"), cache("b")]
    outputs = [LOGITS, cache("x", "all"), cache("y", "all")]
    assert generation(decoder(inputs, outputs), a="y", b="x").decoding.caches == (
        CacheTensor(1, 2, 2),
        CacheTensor(2, 1, 2),
    )


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
    (length,) = generation(decoder(inputs, [LOGITS, cache("present.0.key", "all")])).decoding.lengths
    assert (length.input, length.counts) == (1, counts)


def test_an_integer_that_counts_something_unknown_needs_a_value() -> None:
    inputs = [IDS, TensorSpec("num_logits_to_keep", "int64", ()), cache("past.0.key")]
    bundle = decoder(inputs, [LOGITS, cache("present.0.key", "all")])
    with pytest.raises(IrbenchError, match="num_logits_to_keep") as refused:
        generations([bundle], GenerationRequest(3, [4]))
    assert "--value num_logits_to_keep=1" in refused.value.hint
    (made,) = generations([bundle], GenerationRequest(3, [4], given=["num_logits_to_keep"]))
    assert [spec.tensor.name for spec in made.inputs] == ["input_ids", "num_logits_to_keep"]
