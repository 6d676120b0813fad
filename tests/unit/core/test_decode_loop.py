"""What a decoder is given, token after token."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from irbench.core.decode_loop import DecodeLoop
from irbench.spec import Artifact, TensorSpec
from irbench.spec.generation import LOGITS, GenerationArtifact, GenerationGraph, Given, Held, Role

VOCABULARY = 20
SPECS = (
    TensorSpec("input_ids", "int32", ("batch", "tokens")),
    TensorSpec("attention_mask", "int64", ("batch", "all")),
    TensorSpec("position_ids", "int64", ("batch", "tokens")),
    TensorSpec("past_length", "int64", (1,)),
    TensorSpec("use_cache_branch", "bool", (1,)),
    TensorSpec("encoded", "float32", ("batch", 2)),
    TensorSpec("past.0.key", "float32", ("batch", 3, "past", 4)),
)


CACHE = "past.0.key"
ROLES: tuple[Role, ...] = ("tokens", "mask", "positions", "past", "branch", Given(1), Held(CACHE, 2))


def graph(specs: tuple[TensorSpec, ...], takes: tuple[Role, ...], gives: tuple[str | None, ...]) -> GenerationGraph:
    return GenerationGraph(Artifact("onnx", Path("d.onnx"), specs, ()), takes, gives)


def artifact(
    specs: tuple[TensorSpec, ...] = SPECS, takes: tuple[Role, ...] = ROLES, **facts: Any
) -> GenerationArtifact:
    step = graph(specs, takes, (LOGITS, CACHE))
    return GenerationArtifact("onnx", Path("d.onnx"), (), (), **{"new_tokens": 3, "step": step, **facts})


def counting_decoder(feed: tuple[Any, ...]) -> tuple[Any, ...]:
    """Answer the token after the last one, and a cache that is longer by the new tokens."""
    ids, past = feed[0], feed[6]
    logits = -np.abs(np.arange(VOCABULARY) - (ids[..., np.newaxis] + 1) % VOCABULARY).astype(np.float32)
    new = np.ones((*past.shape[:2], ids.shape[1], past.shape[3]), past.dtype)
    return logits, np.concatenate([past, new], axis=2)


def generate(loop: DecodeLoop, prompt: list[list[int]], *, keeps_logits: bool = False) -> list[tuple[Any, ...]]:
    encoded = np.full((len(prompt), 2), 7.0, np.float32)
    loop.begin((np.array(prompt, np.int64), encoded), keeps_logits=keeps_logits)
    feeds: list[tuple[Any, ...]] = []
    while not loop.is_done:
        feeds.append(loop.next())
        loop.take(counting_decoder(feeds[-1]))
    return feeds


def test_the_prompt_comes_first_and_then_each_choice() -> None:
    loop = DecodeLoop(artifact())
    feeds = generate(loop, [[1, 2, 3], [5, 6, 7]])
    assert [feed[0].tolist() for feed in feeds] == [[[1, 2, 3], [5, 6, 7]], [[4], [8]], [[5], [9]]]
    assert loop.tokens.tolist() == [[4, 5, 6], [8, 9, 10]]


def test_mask_positions_and_lengths_follow_the_cache() -> None:
    feeds = generate(DecodeLoop(artifact()), [[1, 2, 3]])
    assert [feed[1].shape for feed in feeds] == [(1, 3), (1, 4), (1, 5)]
    assert [feed[2].tolist() for feed in feeds] == [[[0, 1, 2]], [[3]], [[4]]]
    assert [feed[3].tolist() for feed in feeds] == [[0], [3], [4]]
    assert [feed[4].tolist() for feed in feeds] == [[False], [True], [True]]
    assert {feed[5][0, 0] for feed in feeds} == {7.0}
    assert [feed[6].shape[2] for feed in feeds] == [0, 3, 4]


def test_inputs_have_the_types_of_the_decoder() -> None:
    for feed in generate(DecodeLoop(artifact()), [[1, 2]]):
        assert [array.dtype.name for array in feed] == [spec.dtype for spec in SPECS]


def test_what_stays_as_it_is_keeps_its_rank_also_as_a_scalar() -> None:
    loop = DecodeLoop(artifact((SPECS[0], TensorSpec("temperature", "float32", ())), ("tokens", Given(1))))
    loop.begin((np.array([[1, 2]], np.int64), np.array(0.5)))
    given = loop.next()[1]
    assert (given.shape, given.dtype, float(given)) == ((), np.float32, 0.5)


def test_a_prompt_is_read_token_by_token_where_the_decoder_takes_one() -> None:
    loop = DecodeLoop(artifact(one_by_one=True))
    feeds = generate(loop, [[1, 2, 3]])
    assert [feed[0].tolist() for feed in feeds] == [[[1]], [[2]], [[3]], [[4]], [[5]]]
    assert loop.tokens.tolist() == [[4, 5, 6]]


def test_each_generation_begins_with_an_empty_cache() -> None:
    loop = DecodeLoop(artifact())
    generate(loop, [[1, 2, 3]])
    assert loop.cache_bytes == 3 * 5 * 4 * 4, "the last token is not fed any more"
    assert generate(loop, [[9]])[0][6].shape == (1, 3, 0, 4)


def test_answers_hold_the_largest_logits_of_each_token() -> None:
    loop = DecodeLoop(artifact())
    generate(loop, [[1, 2, 3]], keeps_logits=True)
    tokens, top, top_tokens, logits = loop.answers()
    assert tokens.tolist() == [[4, 5, 6]]
    assert (top.shape, logits.shape) == ((1, 3, VOCABULARY), (1, 3, VOCABULARY))
    assert top_tokens[0, :, 0].tolist() == [4, 5, 6]
    assert top[0, 0].tolist() == sorted(top[0, 0].tolist(), reverse=True)


def test_a_cache_of_unknown_size_is_named() -> None:
    specs = (*SPECS[:6], TensorSpec("past.0.key", "float32", ("batch", "heads", "past", 4)))
    loop = DecodeLoop(artifact(specs))
    loop.begin((np.ones((1, 2), np.int64), np.ones((1, 2), np.float32)))
    with pytest.raises(ValueError, match=r"past\.0\.key has the dimension heads"):
        loop.next()


@pytest.mark.parametrize(("counts", "numbers"), [("past", [0, 3, 4]), ("total", [3, 4, 5]), ("last", [2, 3, 4])])
def test_lengths_count_what_they_are_called_after_for_each_sample(counts: Any, numbers: list[int]) -> None:
    specs = (*SPECS[:3], TensorSpec("length", "int32", ("batch",)), *SPECS[4:])
    loop = DecodeLoop(artifact(specs, (*ROLES[:3], counts, *ROLES[4:])))
    feeds = generate(loop, [[1, 2, 3], [5, 6, 7]])
    assert [feed[3].tolist() for feed in feeds] == [[number, number] for number in numbers]


def test_a_cache_that_comes_back_empty_from_a_branch_stays_as_it_was() -> None:
    loop = DecodeLoop(artifact())
    loop.begin((np.array([[1, 2, 3]], np.int64), np.ones((1, 2), np.float32)))
    sizes: list[int] = []
    while not loop.is_done:
        feed = loop.next()
        sizes.append(feed[6].shape[2])
        logits, cache = counting_decoder(feed)
        loop.take((logits, cache if sizes[-1] == 0 else cache[:0]))
    assert sizes == [0, 3, 3], "as the encoder's part of a merged decoder, which only the first call computes"


def test_an_encoder_and_a_graph_that_reads_the_prompt_are_called_once_before_the_steps() -> None:
    ids, cache, encoded = SPECS[0], SPECS[6], TensorSpec("encoded", "float32", ("batch", 2))
    crossed = TensorSpec("past.0.encoder.key", "float32", ("batch", 2))
    loop = DecodeLoop(
        artifact(
            (ids, crossed, cache),
            ("tokens", Held("cross"), Held(CACHE, 2)),
            first=graph((ids, encoded), ("tokens", Held("states")), ("cross", LOGITS, CACHE)),
            encoder=graph((TensorSpec("ids", "int32", ("batch", "encoded")),), (Given(1),), ("states",)),
        )
    )
    loop.begin((np.array([[1, 2]], np.int64), np.array([[7, 8]], np.int64)))
    assert loop.next()[0].tolist() == [[7, 8]]
    loop.take((np.full((1, 2), 5.0, np.float32),))
    tokens, states = loop.next()
    assert (tokens.tolist(), states.tolist()) == ([[1, 2]], [[5.0, 5.0]])
    scores = np.eye(1, VOCABULARY, 3, np.float32)[np.newaxis]
    loop.take((np.full((1, 2), 6.0, np.float32), scores, np.ones((1, 3, 2, 4), np.float32)))
    assert loop.place == 2
    while not loop.is_done:
        tokens, crossed_values, past = loop.next()
        assert (tokens.tolist(), crossed_values.tolist()) == ([[3]], [[6.0, 6.0]])
        loop.take((scores, np.concatenate([past, past[:, :, :1]], axis=2)))
    assert loop.tokens.tolist() == [[3, 3, 3]]
    assert loop.cache_bytes == (2 + 3 * 4 * 4) * 4, "the encoder's answer is no cache"


def test_calls_leave_caches_out_that_a_runtime_keeps() -> None:
    kept = artifact((SPECS[6], SPECS[0]), (Held(CACHE, 2), "tokens"))
    answers = (replace(SPECS[6], name="present.0.key"), TensorSpec("logits", "float32", ("batch", 1, VOCABULARY)))
    step = GenerationGraph(replace(kept.step.artifact, outputs=answers), kept.step.takes, (CACHE, LOGITS))
    loop = DecodeLoop(kept.with_graphs(lambda _: step.without_caches))
    loop.begin((np.array([[3, 4]], np.int64),))
    assert loop.capacity == 2 + 3 - 1, "the last choice is not fed any more"
    (tokens,) = loop.next()
    assert tokens.tolist() == [[3, 4]]
    loop.take((np.eye(VOCABULARY, dtype=np.float32)[[[1, 9]]],))
    assert loop.next()[0].tolist() == [[9]]
