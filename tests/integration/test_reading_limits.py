"""Files that would take a coordinator with them: one line refuses each, and none is parsed in the coordinator."""

from __future__ import annotations

import os
import resource
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import hostile_files as hostile
import models
import pytest
from fake_runs import FASTEST
from front_door import irbench_here

from irbench.onnx.reading import protobuf
from irbench.worker.model_files import read_file

pytestmark = pytest.mark.usefixtures("known_backends")

_LOOKS = (("inspect",), ("cost",), ("run", "--backends", "fake-a"), ("optimize",))
"""Commands that take an ONNX file, up to it."""

ENDLESS = {
    "empty nodes": (hostile.of_empty_nodes(1_000_000), "is not an ONNX model"),
    "a weight of 300 dimensions": (hostile.changed(hostile.of_weight_dimensions(300)), "is not an ONNX model"),
    "a weight of 2 to the 124": (hostile.changed(hostile.of_weight_dimensions(2)), "is not an ONNX model"),
    "names that are not UTF-8": (hostile.name_that_is_no_text, "not valid UTF-8"),
}


@pytest.mark.parametrize("command", _LOOKS, ids=lambda command: command[0])
@pytest.mark.parametrize(("build", "said"), [*ENDLESS.values()][:2], ids=[*ENDLESS][:2])
def test_every_command_refuses_what_no_model_has(
    tmp_path: Path, build: hostile.Build, said: str, command: tuple[str, ...]
) -> None:
    problem, _ = hostile.refusal(irbench_here(command[0], build(tmp_path), *command[1:]))
    assert said in problem


@pytest.mark.parametrize(("build", "said"), ENDLESS.values(), ids=ENDLESS.keys())
def test_a_file_beyond_all_bounds_takes_no_memory_of_the_coordinator(
    tmp_path: Path, build: hostile.Build, said: str
) -> None:
    path = build(tmp_path)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    problem, _ = hostile.refusal(irbench_here("run", path, "--backends", "fake-a"))
    assert said in problem
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 100_000  # kilobytes


def test_inspect_shows_names_that_are_not_utf8_in_another_way(tmp_path: Path) -> None:
    called = irbench_here("inspect", hostile.name_that_is_no_text(tmp_path))
    assert called.code == 0, called.err
    assert "Relu" in called.out


@pytest.mark.slow
def test_more_nodes_than_any_model_has_are_refused(tmp_path: Path) -> None:
    problem, remedy = hostile.refusal(irbench_here("inspect", hostile.with_small_nodes(250_001)(tmp_path)))
    assert "more than 250,000 nodes" in problem
    assert "loop" in remedy


@pytest.mark.parametrize("command", _LOOKS, ids=lambda command: command[0])
def test_a_name_that_no_file_can_have_is_one_line(tmp_path: Path, command: tuple[str, ...]) -> None:
    long_name = tmp_path / f"{'a' * 300}.onnx"
    problem, _ = hostile.refusal(irbench_here(command[0], long_name, *command[1:]))
    assert "File name too long" in problem


@pytest.mark.parametrize("command", _LOOKS, ids=lambda command: command[0])
def test_a_folder_that_may_not_be_entered_is_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: tuple[str, ...]
) -> None:
    monkeypatch.setattr(Path, "stat", _denied_below(tmp_path / "closed"))  # root may enter every folder
    problem, remedy = hostile.refusal(irbench_here(command[0], tmp_path / "closed" / "m.onnx", *command[1:]))
    assert "Permission denied" in problem
    assert "read" in remedy


@pytest.mark.ci
def test_the_longest_name_that_a_file_can_have_is_measured(tmp_path: Path) -> None:
    path = models.two_inputs(tmp_path).path
    longest = path.rename(path.with_name(f"{'a' * 250}.onnx"))
    called = irbench_here("run", longest, "--backends", "fake-a", "--shape", "tokens=1x4", *FASTEST)
    assert called.code == 0, called.err


@pytest.mark.ci
@pytest.mark.parametrize("command", ["inspect", "cost", "run", "optimize", "verify"])
def test_no_command_maps_a_model_in_the_coordinator(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: str
) -> None:
    path = models.mlp(tmp_path).path

    def refuse(*_: object, **__: object) -> Any:
        raise AssertionError("the coordinator maps a model")

    monkeypatch.setattr(protobuf, "mmap", SimpleNamespace(mmap=refuse, ACCESS_READ=1))
    backends = ("--backends", "ort")
    arguments = {"run": (*backends, *FASTEST), "optimize": ("--level", "basic"), "verify": backends}
    called = irbench_here(command, path, *arguments.get(command, ()))
    assert called.code == 0, called.err


def test_an_honest_file_with_weights_of_its_own_needs_no_memory_for_them(tmp_path: Path) -> None:
    """The limit follows the file's size, and a mapped file counts for nothing."""
    path = hostile.with_external()(tmp_path)
    with (tmp_path / "weights.bin").open("r+b") as file:
        file.truncate(1 << 34)  # a hole, which takes no room
    assert read_file("irbench.onnx.reading.external_data:require_sound", path) > 0
    assert os.stat(tmp_path / "weights.bin").st_size == 1 << 34  # noqa: PTH116 - Path.stat is what other tests replace


def _denied_below(folder: Path) -> Any:
    stat = Path.stat

    def denied(path: Path, **options: Any) -> os.stat_result:
        if path.is_relative_to(folder):
            raise PermissionError(13, "Permission denied", str(path))
        return stat(path, **options)

    return denied
