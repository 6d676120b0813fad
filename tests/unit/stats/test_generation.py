"""Figures of generations, of which the truth is known."""

from __future__ import annotations

from dataclasses import replace

import launches
import numpy as np
import pytest

from irbench.core.record import LaunchRecord, OutputError, Round
from irbench.core.row import CellResult
from irbench.spec import Bundle, Group, InputSpec, TensorSpec, Timing, Workload
from irbench.stats.eligibility import Admission
from irbench.stats.run_modes.generation import bytes_of_position, first_token_ms, token_ms
from irbench.stats.summary import summarise

MS = 1_000_000
PROMPT, NEW, CALLS = 100, 64, 3
PREFILL_MS, FIXED_MS, POSITION_US = 40.0, 2.0, 5.0


INPUTS = (InputSpec(TensorSpec("input_ids", "int64", ("batch", PROMPT))),)
GROUP = Group((Workload(Bundle("decoder", INPUTS, ()), {"batch": 1}),), launches.group("ort").cells, "ort")


def generations(block: int, *, streams: int = 1) -> Round:
    """Return calls whose token at length n costs a fixed time and some more for each position."""
    lengths = PROMPT + np.arange(NEW - 1)
    between_ns = FIXED_MS * MS + POSITION_US * 1e3 * lengths
    one = np.rint(PREFILL_MS * MS + np.concatenate(([0.0], np.cumsum(between_ns)))).astype(np.int64)
    plain = launches.synchronous(block, [one[-1]] * CALLS)
    return replace(plain, part_ns=np.tile(one, CALLS * streams))


def row(rounds_of: list[list[Round]], group: Group = GROUP, **effective: int) -> CellResult:
    records: list[LaunchRecord] = []
    for number, rounds in enumerate(rounds_of):
        facts = {"precision": "fp32", "threads": 2, **effective}
        records.append(launches.launch(number, [launches.measured("ort", rounds, effective=facts)]))
    table = summarise(group, records, Timing(), Admission(), stopped_by="target", seconds=1.0)
    return table.cells[0]


def test_first_token_next_tokens_and_what_each_position_adds_are_told_apart() -> None:
    found = row([[generations(block) for block in range(5)] for _ in range(5)]).generation
    assert found is not None
    assert (found.new_tokens, found.prompt) == (NEW, PROMPT)
    assert found.first_token_ms is not None
    assert found.first_token_ms.value == pytest.approx(PREFILL_MS)
    assert found.token_ms is not None
    assert found.token_ms.value == pytest.approx(FIXED_MS + POSITION_US / 1e3 * (PROMPT + (NEW - 2) / 2), rel=1e-3)
    assert found.fixed_ms is not None
    assert found.position_us is not None
    assert found.fixed_ms.value == pytest.approx(FIXED_MS, rel=1e-3)
    assert found.position_us.value == pytest.approx(POSITION_US, rel=1e-3)
    assert found.position_us.low is not None, "five launches give an interval"


def test_prompt_tokens_per_second_are_those_of_a_batch_over_the_time_to_its_first_token() -> None:
    found = row([[generations(block) for block in range(5)] for _ in range(5)]).generation
    assert found is not None
    assert found.prompt_tokens_per_s is not None
    assert found.prompt_tokens_per_s.value == pytest.approx(PROMPT / PREFILL_MS * 1e3)
    assert found.prompt_tokens_per_s.ends is not None
    batched = replace(GROUP, workloads=(replace(GROUP.main, sizes={"batch": 4}),))
    cells = tuple(replace(cell, load=replace(cell.load, batch=4)) for cell in batched.cells)
    found = row([[generations(block) for block in range(5)]] * 3, group=replace(batched, cells=cells)).generation
    assert found is not None
    assert found.prompt_tokens_per_s is not None
    assert found.prompt_tokens_per_s.value == pytest.approx(4 * PROMPT / PREFILL_MS * 1e3)


def test_a_decoder_behind_an_encoder_has_no_prompt_tokens_per_second() -> None:
    names = ("decoder_input_ids", "input_ids")
    inputs = tuple(InputSpec(TensorSpec(name, "int64", ("batch", 4))) for name in names)
    group = replace(GROUP, workloads=(Workload(Bundle("decoder", inputs, ()), {"batch": 1}),))
    found = row([[generations(block) for block in range(5)]] * 3, group=group).generation
    assert found is not None
    assert found.prompt_tokens_per_s is None, "the time to the first token is that of the encoder too"


def test_percentiles_of_tokens_are_over_all_tokens_and_need_enough_of_them() -> None:
    few = row([[generations(block) for block in range(5)]] * 2).generation
    many = row([[generations(block) for block in range(5)]] * 5).generation
    assert few is not None
    assert many is not None
    assert few.first_token_p90_ms is None, "30 calls"
    assert many.first_token_p90_ms == pytest.approx(PREFILL_MS), "75 calls"
    assert many.first_token_p99_ms is None
    assert many.token_p90_ms == pytest.approx(FIXED_MS + POSITION_US / 1e3 * (PROMPT + 0.9 * (NEW - 2)), rel=1e-2)
    assert many.token_p99_ms is not None
    assert many.token_ms is not None
    assert many.token_p90_ms is not None
    assert many.token_ms.value < many.token_p90_ms < many.token_p99_ms


def test_memory_of_a_position_is_the_growth_from_the_second_token_on() -> None:
    grown_bytes = np.array([5e8, 6e8, *(6e8 + 1e5 * 40 * (token // 40) for token in range(1, 81))]).astype(np.int64)
    assert bytes_of_position(grown_bytes) == 100_000, "all of it counts, though most tokens add nothing"
    assert bytes_of_position(grown_bytes[:20]) is None


def test_memory_that_grows_by_less_than_a_few_steps_of_an_allocator_tells_nothing_of_a_position() -> None:
    assert bytes_of_position(np.linspace(6e8, 6.02e8, 128).astype(np.int64)) is None


def test_tokens_per_second_count_every_token_of_the_time() -> None:
    result = row([[generations(block) for block in range(5)] for _ in range(5)])
    assert result.generation is not None
    assert result.fps is not None
    assert result.generation.tokens_per_s.value == pytest.approx(NEW * result.fps)


def test_few_tokens_have_no_line_and_one_token_no_next() -> None:
    short = launches.synchronous(0, [10 * MS, 10 * MS])
    rounds = [[replace(short, block=block, part_ns=np.array([4, 10, 4, 10]) * MS) for block in range(5)]] * 3
    found = row(rounds).generation
    assert found is not None
    assert (found.new_tokens, found.fixed_ms, found.position_us) == (2, None, None)
    single = [[replace(short, block=block, part_ns=np.array([4, 4]) * MS) for block in range(5)]] * 3
    found = row(single).generation
    assert found is not None
    assert (found.new_tokens, found.token_ms) == (1, None)


@pytest.mark.parametrize(("same", "marked"), [(1.0, []), (0.25, ["other-tokens"])])
def test_a_tie_that_was_decided_otherwise_is_marked(same: float, marked: list[str]) -> None:
    error = OutputError(1e-6, 1e-6, 1.0, same)
    rounds = [generations(block) for block in range(5)]
    records = [launches.launch(0, [launches.measured("ort", rounds, output_error=error)])]
    table = summarise(GROUP, records, Timing(), Admission(), stopped_by="target", seconds=1.0)
    assert [mark.code for mark in table.cells[0].marks] == marked


def test_calls_that_generate_nothing_say_nothing_of_tokens() -> None:
    plain = [[launches.synchronous(block, [MS, MS]) for block in range(5)]] * 3
    assert row(plain).generation is None


def test_the_size_of_the_caches_is_what_the_session_held() -> None:
    found = row([[generations(block) for block in range(5)]] * 3, cache_bytes=4096).generation
    assert found is not None
    assert found.cache_bytes == 4096


def test_a_function_that_answers_all_tokens_at_once_has_tokens_per_second_and_no_times_of_tokens() -> None:
    plain = [[launches.synchronous(block, [10 * MS, 10 * MS]) for block in range(5)]] * 3
    result = row(plain, new_tokens=NEW)
    found = result.generation
    assert found is not None
    assert found.tokens_per_s.value == pytest.approx(NEW * 100)
    assert (found.new_tokens, found.prompt) == (NEW, PROMPT)
    assert (found.first_token_ms, found.token_ms, found.fixed_ms, found.position_us) == (None,) * 4
    rounds = [(launches.measured("ort", own), round_) for own in plain for round_ in own]
    assert np.isnan([first_token_ms(rounds), token_ms(rounds)]).all()
