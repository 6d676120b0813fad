"""Commands whose reader goes away, or whose output has no room: what each of them exits with, and what it says."""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import click
import compared_runs
import models
import pytest
from combinations import each_once

from irbench import cli
from irbench.errors import ExitCode, IrbenchError
from irbench.store.folders import default_root

PRINTING = [
    ["--help"], ["models"], ["models", "--format", "json"], ["backends"], ["completion", "zsh"], ["plan", "list"],
    ["plan", "schema"], ["plan", "from"], ["results"], ["results", "--format", "csv"], ["history"],
    ["show"], ["show", "--format", "json"], ["show", "--samples"], ["show", "--format", "jsonl"],
    ["compare", "before", "latest"], ["inspect", "MODEL.onnx"], ["cost", "MODEL.onnx", "--format", "json"],
]  # fmt: skip
"""Every command that does nothing but print."""


@pytest.fixture
def stored(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Have two stored runs, and a model in the folder that commands are called in."""
    plan = {"command": ["irbench", "run", "tiny"]}
    for named in ({"name": "before"}, {}):
        compared_runs.store(default_root(), {"ort": compared_runs.times(1.0)}, plan={**plan, **named})
    models.mlp(tmp_path, name="MODEL")
    monkeypatch.chdir(tmp_path)


@contextmanager
def unread() -> Iterator[int]:
    """Lend the writing end of a pipe that nobody reads."""
    reading, writing = os.pipe()
    os.close(reading)
    with os.fdopen(writing, "wb"):
        yield writing


@contextmanager
def full() -> Iterator[int]:
    """Lend a device that has no room."""
    if not Path("/dev/full").exists():
        pytest.skip("no /dev/full here")
    with open("/dev/full", "wb") as device:  # noqa: PTH123 - nothing else takes a device for writing without truncating
        yield device.fileno()


def called(
    monkeypatch: pytest.MonkeyPatch, *arguments: str, out: int | None = None, err: int | None = None
) -> tuple[int, str, str]:
    """Call irbench with broken outputs; return the exit code and what other outputs hold."""
    kept = io.StringIO(), io.StringIO()
    for name, descriptor, instead in (("stdout", out, kept[0]), ("stderr", err, kept[1])):
        stream = instead if descriptor is None else open(descriptor, "w", encoding="utf-8", closefd=False)  # noqa: SIM115
        monkeypatch.setattr(sys, name, stream)
    with pytest.raises(SystemExit) as left:
        cli.main(arguments)
    assert isinstance(left.value.code, int)
    return left.value.code, kept[0].getvalue(), kept[1].getvalue()


@pytest.mark.ci
@pytest.mark.parametrize("arguments", PRINTING, ids=" ".join)
@pytest.mark.usefixtures("stored")
def test_a_command_that_only_prints_ends_quietly_with_its_reader(arguments: list[str], monkeypatch: pytest.MonkeyPatch):
    with unread() as out:
        code, _, said = called(monkeypatch, *arguments, out=out)
    assert code == 141
    assert "error" not in said


@pytest.mark.parametrize(
    "arguments",
    [
        ["compare", "before", "latest", "--fail-on", "p50>5%"],
        ["compare", "before", "latest", "--fail-on=p50>5%"],
        ["history", "--fail-on", "p50>5%"],
        ["results", "--rebuild"],
    ],
    ids=" ".join,
)
@pytest.mark.usefixtures("stored")
def test_an_exit_code_that_tells_something_does_not_depend_on_the_reader(
    arguments: list[str], monkeypatch: pytest.MonkeyPatch
):
    expected = called(monkeypatch, *arguments)[0]
    with unread() as out:
        assert called(monkeypatch, *arguments, out=out)[0] == expected != ExitCode.UNREAD


@pytest.mark.parametrize("arguments", PRINTING, ids=" ".join)
@pytest.mark.usefixtures("stored")
def test_output_that_has_no_room_is_an_error(arguments: list[str], monkeypatch: pytest.MonkeyPatch):
    with full() as out:
        code, _, said = called(monkeypatch, *arguments, out=out)
    assert code == 2
    assert said.splitlines()[-2] == "error: Standard output cannot be written: No space left on device."
    assert said.splitlines()[-1].startswith("hint: ")


@pytest.mark.parametrize(("arguments", "broken"), each_once(PRINTING, [unread, full]))
@pytest.mark.usefixtures("stored")
def test_a_broken_standard_error_changes_nothing(arguments: list[str], broken, monkeypatch: pytest.MonkeyPatch):
    with broken() as err:
        code, printed, _ = called(monkeypatch, *arguments, err=err)
    assert code == 0
    assert printed


def working(monkeypatch: pytest.MonkeyPatch, result: int | Exception) -> list[str]:
    """Have ``irbench run`` print three lines, and return or raise this; return what it did."""
    done: list[str] = []

    @click.command("run")
    def command() -> int:
        for line in ("first", "second", "third"):
            click.echo(line * 10_000)
            done.append(line)
        if isinstance(result, Exception):
            raise result
        return result

    monkeypatch.setattr("irbench.features.run.command.command", command)
    return done


@pytest.mark.parametrize("code", [0, 1, 3, 4, 130])
def test_a_command_that_works_goes_on_without_its_reader_and_keeps_its_exit_code(
    code: int, monkeypatch: pytest.MonkeyPatch
):
    done = working(monkeypatch, code)
    with unread() as out:
        assert called(monkeypatch, "run", out=out) == (code, "", "")
    assert done == ["first", "second", "third"]


@pytest.mark.parametrize(
    ("result", "code"), [(0, 2), (3, 3), (IrbenchError("It broke.", exit_code=ExitCode.DIFFERENT), 1)]
)
def test_a_command_that_works_goes_on_where_its_output_has_no_room_and_says_so(
    result: int | Exception, code: int, monkeypatch: pytest.MonkeyPatch
):
    done = working(monkeypatch, result)
    with full() as out:
        left, _, said = called(monkeypatch, "run", out=out)
    assert left == code
    assert "error: Standard output cannot be written: No space left on device." in said
    assert done == ["first", "second", "third"]


def test_an_error_has_its_exit_code_where_nobody_hears_of_it(monkeypatch: pytest.MonkeyPatch):
    with unread() as err:
        assert called(monkeypatch, "show", "nothing", err=err)[0] == 2
    with full() as err:
        assert called(monkeypatch, "show", "nothing", err=err)[0] == 2


@pytest.mark.usefixtures("stored")
def test_runs_are_removed_although_nobody_reads_which(monkeypatch: pytest.MonkeyPatch):
    with unread() as out:
        assert called(monkeypatch, "results", "rm", "before", "latest", "--yes", out=out)[0] == 0
    assert called(monkeypatch, "results", "--format", "json")[1] == '{\n  "runs": [],\n  "sweeps": []\n}\n'


@pytest.mark.usefixtures("stored")
def test_raw_samples_stop_with_their_reader(monkeypatch: pytest.MonkeyPatch):
    read: list[str] = []

    def samples(*_: object) -> Iterator[object]:
        for number in range(100_000):
            read.append("")
            yield {"number": number, "text": "x" * 100}

    monkeypatch.setattr("irbench.render.sample_lines.samples_of", samples)
    monkeypatch.setattr(
        "irbench.render.sample_lines.write_samples", lambda found, _form, to: to.writelines(map(str, found))
    )
    with unread() as out:
        assert called(monkeypatch, "show", "--samples", out=out)[0] == 141
    assert len(read) < 1000
