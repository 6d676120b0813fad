import pytest
from irbench_known_speed.script import Script, read_script

from irbench.spi import Refusal


def test_options_are_read_and_the_rest_keep_their_defaults():
    read = read_script("known-a", {"call_us": "250", "wait": "sleep", "stall_every": "7"})
    assert read == Script(call_us=250.0, wait="sleep", stall_every=7)


def test_an_unknown_option_is_refused_with_those_that_there_are():
    with pytest.raises(Refusal) as refused:
        read_script("known-a", {"speed": "1"})
    assert refused.value.message == "known-a has no option 'speed'."
    assert refused.value.hint == "Options: call_us, wait, drift, launch_sd, stall_ms, stall_every, wrong, beacon."


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("call_us", "0"), ("call_us", "fast"), ("call_us", "inf"), ("wait", "nap"), ("drift", "-1"),
        ("launch_sd", "-0.1"), ("stall_ms", "nan"), ("stall_every", "0"), ("stall_every", "1.5"), ("wrong", "very"),
    ],
)  # fmt: skip
def test_a_value_that_an_option_does_not_take_is_refused_with_what_it_takes(name, text):
    with pytest.raises(Refusal) as refused:
        read_script("known-b", {name: text})
    assert refused.value.message == f"known-b cannot take {name}={text}."
    assert refused.value.hint.startswith(f"{name} is ")


def test_a_call_lasts_what_was_asked_for():
    assert Script(call_us=1050).duration_ns(number=1, elapsed_s=9.0, factor=1.0) == 1_050_000


def test_a_process_of_its_own_speed_keeps_it():
    assert Script(call_us=1000).duration_ns(number=1, elapsed_s=9.0, factor=1.01) == 1_010_000


def test_calls_become_slower_by_the_second_where_they_drift():
    drifting = Script(call_us=1000, drift=0.01)
    assert [drifting.duration_ns(1, second, 1.0) for second in (0, 1, 10)] == [1_000_000, 1_010_000, 1_100_000]


def test_every_third_call_is_stalled_by_the_same_time_whatever_its_length():
    stalling = Script(call_us=1000, stall_ms=2, stall_every=3)
    lengths = [stalling.duration_ns(number, 0.0, 1.0) for number in range(1, 7)]
    assert lengths == [1_000_000, 1_000_000, 3_000_000] * 2
