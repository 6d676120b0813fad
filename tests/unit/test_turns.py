"""Continuous integration takes longer tests by turns, so that each of them is run again and again."""

import re
import subprocess
import sys

import pytest
import turns

TESTS = """
import pytest

def test_fast(): ...

@pytest.mark.ci
def test_run(): ...

@pytest.mark.ci
def test_resume(): ...

@pytest.mark.slow
@pytest.mark.long
@pytest.mark.parametrize("number", range(4))
def test_long(number): ...

@pytest.mark.slow
@pytest.mark.parametrize("number", range(9))
def test_slow(number): ...

@pytest.mark.slow
@pytest.mark.zoo
@pytest.mark.parametrize("model", [f"model{number}" for number in range(25)])
def test_answers(model): ...

@pytest.mark.slow
@pytest.mark.zoo
@pytest.mark.parametrize("model", [f"model{number}" for number in range(25)])
def test_costs(model): ...
"""


COLLECT = """
import sys, pytest
for turn in range(int(sys.argv[1])):
    plugins = ["-p", "turns", "-p", "no:xdist", "-p", "no:cacheprovider"]
    pytest.main([*plugins, "--collect-only", "-vq", "--turn", str(turn)])
"""


@pytest.fixture(scope="module")
def taken(tmp_path_factory: pytest.TempPathFactory) -> list[tuple[str, list[str]]]:
    """Return the header of each turn and its tests."""
    folder = tmp_path_factory.mktemp("tests")
    (folder / "test_some.py").write_text(TESTS)
    (folder / "test_others.py").write_text("import pytest\n\n@pytest.mark.ci\ndef test_sweep(): ...\n")
    (folder / "pytest.ini").write_text("[pytest]\nmarkers =\n    ci\n    slow\n    long\n    zoo\n")
    count = max(turns.SHARES.values())
    done = subprocess.run(
        [sys.executable, "-c", COLLECT, str(count)], cwd=folder, capture_output=True, text=True, check=True
    )
    headers, *sessions = re.split(r"^(?=turn \d+:)", done.stdout, flags=re.MULTILINE)
    assert len(sessions) == count, headers
    return [(session.splitlines()[0], re.findall(r"<Function (\S+)>", session)) for session in sessions]


pytestmark = pytest.mark.ci


def every(taken: list[tuple[str, list[str]]], start: str) -> list[str]:
    return [name for _, names in taken for name in names if name.startswith(start)]


def test_fast_tests_belong_to_every_turn(taken) -> None:
    assert all("test_fast" in names for _, names in taken)


@pytest.mark.parametrize(("name", "tests", "share"), [("test_long", 4, 4), ("test_slow", 9, 8)])
def test_each_slow_test_belongs_to_one_turn_of_its_share(taken, name: str, tests: int, share: int) -> None:
    for first in (0, share, 24 - share):
        assert sorted(every(taken[first : first + share], name)) == [f"{name}[{number}]" for number in range(tests)]
    counts = {len(every(taken[turn : turn + 1], name)) for turn in range(share)}
    assert counts == {tests // share, -(-tests // share)}


def test_tests_of_continuous_integration_that_share_a_file_share_a_turn(taken) -> None:
    for turn in range(0, 24, 3):
        three = [sorted({"test_run", "test_resume", "test_sweep"} & set(names)) for _, names in taken[turn : turn + 3]]
        assert sorted(three) == [[], ["test_resume", "test_run"], ["test_sweep"]]


def test_the_longest_tests_of_a_turn_begin(taken) -> None:
    assert all(names[0].startswith("test_long") for _, names in taken)


def test_each_test_of_the_zoo_belongs_to_one_of_its_turns(taken) -> None:
    expected = sorted(f"test_answers[model{number}]" for number in range(25))
    assert sorted(every(taken, "test_answers")) == expected


def test_tests_of_one_model_share_what_is_made_of_it(taken) -> None:
    for _, names in taken:
        answers, costs = (every([("", names)], start) for start in ("test_answers", "test_costs"))
        assert [name.partition("[")[2] for name in answers] == [name.partition("[")[2] for name in costs]


def test_a_turn_says_which_part_it_takes(taken) -> None:
    assert taken[7][0] == (
        "turn 7: part 8 of 24 of the tests marked zoo, part 4 of 4 of the tests marked long, "
        "part 8 of 8 of the tests marked slow, part 2 of 3 of the tests marked ci"
    )
