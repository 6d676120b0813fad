"""Continuous integration runs every part, and ends with what became of the tests."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

RUN = Path(__file__).parents[2] / ".ci" / "run"
PASSED = {
    "test": "= 9800 passed, 12 skipped, 52 subtests passed in 181.20s (0:03:01) =",
    "test-turn": "= 90 passed, 11000 deselected in 900.00s (0:15:00) =",
    "test-newest": "= 2000 passed, 3 skipped in 100.00s (0:01:40) =",
    "test-torch": "= 40 passed, 1 skipped in 300.00s (0:05:00) =",
}


def run(folder: Path, summaries: dict[str, str], failing: str = "") -> tuple[int, list[str]]:
    """Return exit code and lines of continuous integration where make prints these summaries."""
    (folder / ".ci").mkdir()
    shutil.copy(RUN, folder / ".ci" / "run")
    programs = folder / "programs"
    programs.mkdir()
    cases = "".join(f"{part}) echo '{summary}';;\n" for part, summary in summaries.items())
    scripts = {
        "chromium": "",
        "make": f'echo "turn 7: part 2 of 3"\ncase $1 in\n{cases}esac\n[ "$1" != "{failing}" ]\n',
    }
    for name, script in scripts.items():
        (programs / name).write_text(f"#!/bin/sh\n{script}")
        (programs / name).chmod(0o755)
    path = os.pathsep.join([str(programs), os.environ["PATH"]])
    done = subprocess.run(
        ["bash", folder / ".ci" / "run"], env={**os.environ, "PATH": path}, capture_output=True, text=True, check=False
    )
    return done.returncode, done.stdout.splitlines()


def test_the_last_line_is_the_sum_of_all_parts(tmp_path: Path) -> None:
    code, lines = run(tmp_path, PASSED)
    assert code == 0
    assert lines[-1].startswith("===== 11930 passed, 16 skipped, 52 subtests passed, 11000 deselected in ")
    assert lines[-2] == "turn 7: part 2 of 3"
    assert lines[-2 - len(PASSED) : -2] == [f"make {part:10} {summary.strip('= ')}" for part, summary in PASSED.items()]


@pytest.mark.parametrize("failing", PASSED)
def test_a_part_that_fails_keeps_no_other_part_from_running(failing: str, tmp_path: Path) -> None:
    summaries = {**PASSED, failing: "= 2 failed, 1 passed, 1 error in 3.00s ="}
    code, lines = run(tmp_path, summaries, failing)
    assert code == 1
    assert "2 failed" in lines[-1]
    assert "1 error" in lines[-1]
    assert sum(line.startswith("make ") and " passed" in line for line in lines) == len(PASSED)


def test_a_part_that_ends_before_its_tests_is_named(tmp_path: Path) -> None:
    code, lines = run(tmp_path, {part: text for part, text in PASSED.items() if part != "test"}, "test")
    assert code == 1
    assert "make test       no tests ran" in lines
    assert lines[-1].startswith("===== 2130 passed, 11000 deselected, 4 skipped in ")


def asked_turn(folder: Path) -> int:
    """Return the turn that ``make test-turn`` asks for in a checkout, ten days after the beginning of time."""
    programs = folder / "programs"
    programs.mkdir(exist_ok=True)
    (programs / "date").write_text("#!/bin/sh\necho 864000\n")
    (programs / "date").chmod(0o755)
    for name in ("requirements.lock", "pyproject.toml"):
        (folder / name).touch()
    shutil.copy(RUN.parents[1] / "Makefile", folder)
    environment = {name: value for name, value in os.environ.items() if name not in ("TURN", "GIT_DIR", "MAKEFLAGS")}
    environment |= {
        "GIT_CEILING_DIRECTORIES": str(folder.parent),
        "PATH": os.pathsep.join([str(programs), environment["PATH"]]),
    }
    done = subprocess.run(
        ["make", "-n", "test-turn"], cwd=folder, env=environment, capture_output=True, text=True, check=True
    )
    (command,) = (line for line in done.stdout.splitlines() if "--turn" in line)
    return int(command.split("--turn ")[1].split()[0])


def test_a_turn_is_counted_by_commits(tmp_path: Path) -> None:
    as_somebody = ["-c", "user.name=somebody", "-c", "user.email=somebody@example.org"]
    whole, shallow = tmp_path / "whole", tmp_path / "shallow"
    subprocess.run(["git", "init", "-q", whole], check=True)
    for turn in range(1, 4):
        commit = ["git", *as_somebody, "commit", "-q", "--allow-empty", "-m", "a change"]
        subprocess.run(commit, cwd=whole, check=True)
        assert asked_turn(whole) == turn
    subprocess.run(["git", "clone", "-q", "--depth", "1", whole.as_uri(), shallow], check=True)
    assert asked_turn(shallow) == 10


def test_a_turn_is_counted_by_days_where_there_is_no_history(tmp_path: Path) -> None:
    assert asked_turn(tmp_path) == 10
