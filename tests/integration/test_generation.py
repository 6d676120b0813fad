"""Generations through the front door: small decoders with a cache, on scripted backends and on real ones."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import fake_runs
import numpy as np
import onnx
import pytest
from decoders import VOCABULARY, WIDTH, write_attention_decoder, write_decoder, write_encoder_and_decoder, write_pair
from front_door import irbench

import irbench as library

pytestmark = pytest.mark.usefixtures("known_backends")


@pytest.fixture
def decoder(tmp_path: Path) -> Path:
    return write_decoder(tmp_path / "decoder.onnx")


@pytest.mark.ci
@pytest.mark.parametrize("streams", [1, 2])
def test_a_generation_is_measured_and_verified_token_by_token(decoder: Path, streams: int) -> None:
    called = fake_runs.run(decoder, "--generate", "5", "--prompt", "3", "--streams", str(streams))
    assert called.code == 0, called.err
    (table,) = called.document["groups"]
    assert table["shapes"] == {"input_ids": [1, 3]}
    for cell in table["cells"]:
        assert cell["state"] == "ok"
        assert cell["output_error"]["top1_agreement"] == 1
        generation = cell["generation"]
        assert (generation["new_tokens"], generation["prompt"]) == (5, 3)
        assert 0 < generation["first_token_ms"]["value"] < cell["latency_ms"]["p50"]
        assert generation["cache_bytes"] == 2 * 2 * (3 + 5 - 1) * 16 * 4, "the last token is not fed any more"


@pytest.mark.ci
def test_what_a_position_and_a_token_cost_is_what_the_backend_takes_for_them(decoder: Path) -> None:
    settings = ("--set", "fake-a.call_us=2000", "--set", "fake-a.position_us=50")
    called = fake_runs.run(decoder, "--generate", "40", "--prompt", "10", *settings)
    assert called.code == 0, called.err
    growing, flat = (fake_runs.cell(called, name)["generation"] for name in ("fake-a", "fake-b"))
    assert growing["position_us"]["value"] == pytest.approx(50, rel=1e-3)
    assert growing["fixed_ms"]["value"] == pytest.approx(2, rel=1e-3)
    assert growing["first_token_ms"]["value"] == pytest.approx(2, rel=1e-3), "the cache is empty then"
    assert flat["position_us"]["value"] == pytest.approx(0, abs=1e-3)


@pytest.mark.ci
def test_each_prompt_has_a_table_of_its_own(decoder: Path) -> None:
    called = fake_runs.run(decoder, "--generate", "2", "--prompt", "3,6")
    assert called.code == 0, called.err
    assert [table["shapes"]["input_ids"] for table in called.document["groups"]] == [[1, 3], [1, 6]]
    _, joined = irbench("show", "latest").out.split("all rows")
    rows = [line.split() for line in joined.splitlines() if line.startswith(" ")]
    assert rows[0][:2] == ["backend", "prompt"]
    assert sorted(row[:2] for row in rows[1:]) == [[name, prompt] for name in ("fake-a", "fake-b") for prompt in "36"]


@pytest.mark.ci
def test_a_backend_that_chooses_other_tokens_gets_no_speedup(decoder: Path) -> None:
    called = fake_runs.run(decoder, "--generate", "4", "--prompt", "3", "--set", "fake-b.fault=wrong")
    assert called.code == 1
    assert fake_runs.cell(called, "fake-b")["state"] == "mismatch"


@pytest.mark.ci
def test_runtimes_generate_the_same_with_and_without_optimisation(decoder: Path) -> None:
    run = library.run(
        decoder, backends=["ort", "openvino"], generate=4, prompt=3, optimize=["none", "basic"], batch=2,
        progress=None, quick=True, budget=0.01,
    )  # fmt: skip
    rows = {row.label: row for row in run.rows}
    assert set(rows) == {"ort", "ort+basic", "openvino", "openvino+basic"}
    assert all(row.tokens_per_s and row.first_token_ms and row.token_ms for row in run.rows)


@pytest.mark.ci
def test_a_decoder_is_given_a_scalar_by_every_runtime(decoder: Path) -> None:
    model = onnx.load(decoder)
    model.graph.input.append(onnx.helper.make_tensor_value_info("temperature", onnx.TensorProto.FLOAT, []))
    model.graph.node[-1].output[0] = "cold"
    model.graph.node.append(onnx.helper.make_node("Div", ["cold", "temperature"], ["logits"]))
    onnx.save(model, decoder)
    run = library.run(
        decoder, backends=["ort", "openvino"], generate=3, prompt=2, value={"temperature": 0.5},
        progress=None, quick=True, budget=0.01,
    )  # fmt: skip
    assert {row.label for row in run.rows if row.tokens_per_s} == {"ort", "openvino"}


@pytest.mark.ci
@pytest.mark.parametrize("write", [write_pair, write_encoder_and_decoder])
def test_runtimes_generate_the_same_with_several_files(tmp_path: Path, write: Callable[[Path], Path]) -> None:
    run = library.run(
        write(tmp_path), backends=["ort", "openvino"], generate=4, prompt=3, optimize=["none", "basic"],
        progress=None, quick=True, budget=0.01,
    )  # fmt: skip
    assert {row.label for row in run.rows} == {"ort", "ort+basic", "openvino", "openvino+basic"}
    assert all(row.tokens_per_s for row in run.rows)


@pytest.mark.ci
def test_caches_that_stay_with_a_runtime_are_appended_to_in_place_where_attention_is_fused(tmp_path: Path) -> None:
    decoder = write_attention_decoder(tmp_path / "decoder.onnx")
    settings = ("--generate", "4", "--prompt", "3", "--io", "bound", "--streams", "2", *fake_runs.FASTEST)
    called = irbench("run", decoder, "--backends", "ort,openvino,fake-a", *settings, "--format", "json")
    ort, openvino, fake = (fake_runs.cell(called, name) for name in ("ort", "openvino", "fake-a"))
    for cell in (ort, openvino):
        assert (cell["state"], cell["effective"]["cache"]) == ("ok", "in place")
        assert cell["output_error"]["top1_agreement"] == 1
        assert cell["generation"]["cache_bytes"] > 0
    assert fake["state"] == "failed"
    assert "--io copy" in fake["failure"]["hint"]


@pytest.mark.ci
def test_the_table_shows_first_token_next_tokens_and_tokens_per_second(decoder: Path) -> None:
    called = irbench("run", decoder, "--backends", "fake-a", *fake_runs.FASTEST, "--generate", "3", "--prompt", "4")
    assert called.code == 0, called.err
    shown = " ".join(called.out.split())
    headings = ("prompt tok/s", "first token ms", "token ms", "tokens/s", "p50: time of a generation of 3 tokens")
    for text in (*headings, "prompt 4, 3 new tokens", "compared by time per generation"):
        assert text in shown
    for text in (" FPS ", "inference", "token p90 ms"):
        assert text not in shown
    assert "token p90 ms" in " ".join(irbench("show", "latest", "--all-columns").out.split())


@pytest.mark.ci
def test_prompts_come_from_data(decoder: Path, tmp_path: Path) -> None:
    np.savez(tmp_path / "prompt.npz", input_ids=np.array([[5, 6, 7, 8]], np.int64))
    called = fake_runs.run(decoder, "--generate", "2", "--data", tmp_path / "prompt.npz")
    assert called.code == 0, called.err
    assert called.document["groups"][0]["shapes"]["input_ids"] == [1, 4]


FUNCTIONS = """
import numpy as np
import onnxruntime

def load(cell):
    session = onnxruntime.InferenceSession(str(cell.model), providers=["CPUExecutionProvider"])
    caches = [given.name for given in session.get_inputs() if given.name.startswith("past")]
    def generate(inputs):
        texts = inputs["input_ids"]
        for _ in range(cell.new_tokens):
            empty = {name: np.zeros((len(texts), 1, 0, WIDTH), np.float32) for name in caches}
            given = {"input_ids": texts, "attention_mask": np.ones_like(texts), **empty}
            logits = session.run(["logits"], given)[0]
            texts = np.concatenate([texts, logits[:, -1:].argmax(-1)], axis=1)
        return texts
    return generate

def short(cell):
    whole = load(cell)
    return lambda inputs: whole(inputs)[:, :-1]

def other(cell):
    whole = load(cell)
    return lambda inputs: (whole(inputs)[:, -cell.new_tokens:] + 1) % VOCABULARY
"""


@pytest.mark.ci
def test_a_function_that_generates_is_a_row_whose_tokens_are_verified(
    decoder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    functions = FUNCTIONS.replace("WIDTH", str(WIDTH)).replace("VOCABULARY", str(VOCABULARY))
    (tmp_path / "texts.py").write_text(functions)
    monkeypatch.chdir(tmp_path)
    cells = [f"--cell={name}=texts.py:{name}" for name in ("load", "short", "other")]
    settings = ("--backends", "fake-a", "--generate", "5", "--prompt", "3", "--batch", "2", *fake_runs.FASTEST)
    called = irbench("run", decoder, *settings, *cells, "--format", "json")
    assert called.code == 1, called.err
    mine, short, other = (fake_runs.cell(called, name) for name in ("load", "short", "other"))
    assert (mine["state"], mine["effective"]["new_tokens"]) == ("ok", 5)
    assert mine["output_error"]["top1_agreement"] == 1
    assert mine["speedup"]["verified"] is True
    generated = mine["generation"]
    assert (generated["new_tokens"], generated["prompt"]) == (5, 3)
    assert generated["tokens_per_s"]["value"] == pytest.approx(5 * mine["fps"])
    assert (generated["first_token_ms"], generated["token_ms"]) == (None, None)
    assert short["state"] == "failed"
    assert "2x7" in short["failure"]["message"]
    assert other["state"] == "mismatch"
    shown = irbench("show", "latest")
    (row,) = [line for line in shown.out.splitlines() if line.split()[:1] == ["load"]]
    assert " - " in row, "no time of a first token"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--generate", "0"), "--generate"),
        (("--generate", "4", "--prompt", "0"), "--prompt"),
        (("--generate", "4", "--cold"), "cannot be combined"),
        (("--prompt", "4"), "--generate"),
        (("--objective", "tokens/s"), "--generate"),
        (("--generate", "4", "--feedback", "present.0.key=past"), "no such pair"),
    ],
)
def test_what_is_wrong_is_one_line_that_names_the_option(
    decoder: Path, arguments: tuple[str, ...], message: str
) -> None:
    called = irbench("run", decoder, "--backends", "fake-a", *arguments)
    assert called.code == 2
    assert message in " ".join(called.err.split())
    assert "Traceback" not in called.err


def test_a_model_without_a_cache_is_refused_with_the_names_of_its_tensors(tmp_path: Path) -> None:
    called = irbench("run", write_decoder(tmp_path / "plain.onnx", layers=0), "--backends", "fake-a", "--generate", "4")
    assert called.code == 2
    assert "has no cache" in called.err
    assert "input_ids" in called.err


def test_more_tokens_than_the_model_has_positions_are_refused(tmp_path: Path) -> None:
    model = write_decoder(tmp_path / "decoder.onnx", positions=16)
    called = irbench("run", model, "--backends", "fake-a", "--generate", "5", "--prompt", "13")
    assert called.code == 2
    assert "17 tokens in input_ids of decoder, which has 16 positions" in " ".join(called.err.split())
    assert "--prompt" in called.err


@pytest.mark.parametrize("token", [VOCABULARY, -1])
def test_tokens_outside_of_the_vocabulary_are_refused(decoder: Path, tmp_path: Path, token: int) -> None:
    np.savez(tmp_path / "prompt.npz", input_ids=np.array([[5, token, 7]], np.int64))
    arguments = ("--backends", "fake-a", "--generate", "2")
    for inputs in (("--data", tmp_path / "prompt.npz"), ("--value", f"input_ids={token}")):
        called = irbench("run", decoder, *arguments, *inputs)
        assert called.code == 2
        assert f"the token {token} in input_ids" in " ".join(called.err.split())


@pytest.mark.ci
def test_generations_are_tuned_for_tokens_per_second(decoder: Path) -> None:
    arguments = ("--generate", "3", "--prompt", "4", "--objective", "tokens/s", "--streams", "1", "--threads", "1,2")
    searched = ("--backends", "fake-a,fake-b", "--optimize", "none", "--budget", "40s", "--format", "json")
    called = irbench("tune", decoder, *searched, *arguments, "--instances", "1")
    assert called.code == 0, called.err
    tuned = called.document
    assert tuned["new_tokens"] == 3
    assert tuned["measured"] == 4
    assert tuned["setting"]["batch"] == 1
    words = tuned["command"]
    assert words[words.index("--generate") + 1] == "3"
    assert words[words.index("--prompt") + 1] == "4"


def test_a_cache_that_grows_cannot_be_fed_back_outside_of_a_generation(decoder: Path) -> None:
    pairs = [f"present.0.{part}=past_key_values.0.{part}" for part in ("key", "value")]
    called = irbench(
        "run",
        decoder,
        "--backends",
        "fake-a",
        "--quick",
        "--shape",
        "tokens=1",
        "--shape",
        "past=8",
        *(f"--feedback={pair}" for pair in pairs),
    )
    said = " ".join(called.err.split())
    assert called.code == 2
    assert "present.0.key" in said
    assert "past_key_values.0.key" in said
    assert "--generate" in said


@pytest.mark.ci
@pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="each instance has a processor of its own")
def test_processes_side_by_side_generate_the_sum_of_their_tokens(decoder: Path) -> None:
    clock = ("--set", "fake-a.clock=real", "--set", "fake-a.call_us=2000")  # virtual time is each process's own
    counts = ("--instances", "1,2", "--threads", "1", "--generate", "30", "--prompt", "4")
    called = irbench("run", decoder, "--backends", "fake-a", "--format", "json", *fake_runs.FASTEST, *counts, *clock)
    assert called.code == 0, called.err
    cells = {cell["requested"]["instances"]: cell for cell in called.document["groups"][0]["cells"]}
    for cell in cells.values():
        generation = cell["generation"]
        assert cell["output_error"]["top1_agreement"] == 1
        assert generation["new_tokens"] == 30
        assert generation["tokens_per_s"]["value"] == pytest.approx(30 * cell["fps"], rel=1e-6)
        assert generation["token_ms"]["value"] >= 2, "a token takes as long as in one process at least"
        assert generation["first_token_ms"]["value"] < cell["latency_ms"]["p50"]


@pytest.mark.ci
def test_memory_that_a_backend_keeps_for_each_token_is_told_by_position(decoder: Path) -> None:
    settings = ("--set", "fake-a.keeps_bytes=1000000")
    called = fake_runs.run(decoder, "--generate", "60", "--prompt", "4", *settings)
    assert called.code == 0, called.err
    keeping, plain = (fake_runs.cell(called, name)["generation"]["position_bytes"] for name in ("fake-a", "fake-b"))
    assert keeping["value"] == pytest.approx(1e6, rel=0.6)
    assert plain is None


def test_a_search_for_tokens_of_calls_that_generate_none_is_refused(decoder: Path) -> None:
    called = irbench("tune", decoder, "--backends", "fake-a", "--objective", "tokens/s")
    assert called.code == 2
    assert "--generate" in called.err
    assert "Traceback" not in called.err


def test_a_search_of_several_prompts_is_refused(decoder: Path) -> None:
    called = irbench("tune", decoder, "--backends", "fake-a", "--generate", "3", "--prompt", "3,6")
    assert called.code == 2
    assert "--prompt takes one value" in called.err
