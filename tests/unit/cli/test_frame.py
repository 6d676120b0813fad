"""The front door: quick, and every wrong call ends in one sentence that says what to do."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import click
import pytest
from golden_files import check_golden

from irbench import cli
from irbench.errors import ExitCode, IrbenchError
from irbench.terminal.groups import SectionedCommand

COMMANDS = tuple(cli.cli.list_commands(click.Context(cli.cli)))


def call(*arguments: str) -> int:
    with pytest.raises(SystemExit) as caught:
        cli.main(arguments)
    assert isinstance(caught.value.code, int)
    return caught.value.code


def python(code: str, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", code, *arguments],
        capture_output=True, text=True, check=False, env={**os.environ, **environment},
    )  # fmt: skip


@cache
def helped(command: str, option: str = "--help") -> tuple[str, set[str]]:
    """Return the help of a command, and every module that is imported for it.

    In a process of its own: click remembers a command's help option from its first use in a process.
    """
    code = (
        "import sys; from irbench.cli import main\n"
        "try: main(sys.argv[1:])\n"
        "finally: print(*sys.modules, file=sys.stderr)"
    )  # fmt: skip
    called = python(code, *filter(None, [command]), option, COLUMNS="100")
    assert called.returncode == 0, called.stderr
    return called.stdout, set(called.stderr.split())


@pytest.mark.parametrize("command", ["", *COMMANDS])
def test_the_help_is_the_one_that_was_looked_at_and_imports_no_runtime_and_no_arrays(command: str):
    text, loaded = helped(command)
    check_golden(f"help-{command or 'irbench'}", text)
    assert "click" in loaded
    assert not loaded & {"numpy", "onnx", "onnxruntime", "openvino", "tensorflow", "keras"}


def test_help_imports_nothing_heavy_and_no_command():
    _, loaded = helped("")
    assert not loaded & {"numpy", "onnx", "rich", "msgspec", "psutil", "sqlite3", "asyncio", "importlib.metadata"}
    assert not loaded & {f"irbench.features.{command}.command" for command in COMMANDS}


def test_a_command_bears_its_name_and_leaves_its_line_in_the_list_to_the_table(subtests: pytest.Subtests):
    for name in COMMANDS:
        with subtests.test(name=name):
            command = cli.cli.get_command(click.Context(cli.cli), name)
            assert command is not None
            assert command.name == name
            assert command.short_help is None


def test_a_folder_of_a_feature_is_all_that_a_command_needs(tmp_path: Path):
    folder = tmp_path / "two_words"
    folder.mkdir()
    (folder / "__init__.py").write_text(
        "from irbench.terminal.commands import Command\n"
        'COMMANDS = (Command("two-words", "Machine", "Say that it was called."),)\n'
        'PAGE = "docs/two-words.md"\n'
    )
    (folder / "command.py").write_text(
        'import click\ncommand = click.command("two-words")(lambda: click.echo("called"))\n'
    )
    code = "import sys, irbench.features as f; f.__path__.append(sys.argv.pop()); from irbench.cli import main; main()"
    assert python(code, "two-words", str(tmp_path)).stdout == "called\n"
    assert "two-words" in python(code, "--help", str(tmp_path)).stdout


def test_the_version_is_the_packages(capsys: pytest.CaptureFixture[str]):
    from importlib import metadata

    assert call("--version") == 0
    assert capsys.readouterr().out == f"irbench {metadata.version('irbench-onnx')}\n"


def test_every_summary_is_a_sentence_of_at_most_eight_words(subtests: pytest.Subtests):
    for name, command in all_commands():
        for summary in filter(None, (command.short_help, (command.help or "").partition("\n\n")[0])):
            with subtests.test(name=name, summary=summary):
                assert summary.endswith(".")
                assert len(summary.split()) <= 8
    for name, (_, declared) in cli.declared_commands().items():
        with subtests.test(name=name, summary=declared.summary):
            assert declared.summary.endswith(".")
            assert len(declared.summary.split()) <= 8


def all_commands() -> Iterator[tuple[str, click.Command]]:
    for name in COMMANDS:
        command = cli.cli.get_command(click.Context(cli.cli), name)
        assert command is not None
        yield name, command
        if isinstance(command, click.Group):
            yield from ((f"{name} {below}", found) for below, found in command.commands.items())


def test_a_command_with_more_than_twelve_options_has_sections(subtests: pytest.Subtests):
    for name, command in all_commands():
        options = [param for param in command.params if isinstance(param, click.Option) and not param.hidden]
        if len(options) <= 12:
            continue
        with subtests.test(name=name):
            assert isinstance(command, SectionedCommand)
            assert len(command.sectioned_options(click.Context(command))) > 1


def test_the_first_help_names_six_everyday_commands_first():
    text, _ = helped("")
    assert text.index("Everyday commands:") < text.index("Measure:")
    assert [name for name, (_, found) in cli.declared_commands().items() if found.heading == "Everyday"] == [
        "run", "show", "tune", "compare", "deploy", "doctor"
    ]  # fmt: skip


def test_the_help_of_run_is_short_and_all_of_it_can_be_asked_for():
    short, _ = helped("run")
    whole, _ = helped("run", "--help-all")
    assert "--backends" in short
    assert "--counters" not in short
    assert "More options, shown by --help-all" in short
    assert {"--backends", "--counters", "--resume"} <= set(whole.split())
    assert "shown by --help-all" not in whole
    check_golden("help-all-run", whole)


def test_no_command_shows_the_help_as_a_wrong_call(capsys: pytest.CaptureFixture[str]):
    assert call() == 2
    assert "Measure:" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "wrong", "hint"),
    [
        (("shwo",), "There is no command 'shwo'.", "Did you mean show?"),
        (("xyz",), "There is no command 'xyz'.", "Commands: run, show, tune,"),
        (("show", "--fromat", "json"), "No such option '--fromat'.", "Did you mean --format?"),
        (("show", "--format", "xml"), "'xml' is not one of 'table', 'json'", "See irbench show --help."),
        (("results", "--since", "soon"), "'soon' is not a duration", "See irbench results --help."),
        (("run", "--budget"), "requires an argument", "See irbench run --help."),
        (("results", "rm", "--results"), "requires an argument", "See irbench results rm --help."),
        (("results", "--since", "0"), "write it like 90s or 5m", "See irbench results --help."),
        (("show", "a", "b", "c"), "unexpected extra argument", "See irbench show --help."),
        (("show", "01NOPE"), "There is no run '01NOPE'", "irbench results"),
        (("export",), "Missing argument", "See irbench export --help."),
    ],
)
def test_a_wrong_call_says_what_is_wrong_and_what_to_do(
    arguments: tuple[str, ...], wrong: str, hint: str, capsys: pytest.CaptureFixture[str]
):
    assert call(*arguments) == 2
    out, err = capsys.readouterr()
    assert out == ""
    first, second = err.splitlines()
    assert first.startswith("error: ")
    assert wrong in first
    assert second.startswith("hint: ")
    assert hint in second


def raising(error: BaseException, monkeypatch: pytest.MonkeyPatch) -> None:
    @click.command("show")
    def command() -> None:
        raise error

    monkeypatch.setattr("irbench.features.show.command.command", command)


@pytest.mark.parametrize("code", list(ExitCode)[1:])
def test_an_error_ends_with_its_own_exit_code(
    code: ExitCode, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    raising(IrbenchError("It broke.", hint="pip install 'irbench-onnx[ort]'", exit_code=code), monkeypatch)
    assert call("show") == code
    assert capsys.readouterr().err == "error: It broke.\nhint: pip install 'irbench-onnx[ort]'\n"


def test_an_error_without_a_hint_has_no_empty_one(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]):
    raising(IrbenchError("It broke."), monkeypatch)
    call("show")
    assert capsys.readouterr().err == "error: It broke.\n"


def test_an_interrupt_is_130_and_no_traceback(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]):
    raising(KeyboardInterrupt(), monkeypatch)
    assert call("show") == 130
    assert capsys.readouterr().err.strip() == "error: interrupted"


def test_a_fault_of_irbench_is_one_line_and_a_file_to_report(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    raising(ZeroDivisionError("division\nby zero"), monkeypatch)
    assert call("show") == 70
    error, hint = capsys.readouterr().err.splitlines()
    assert error == "error: Internal error: ZeroDivisionError: division"
    (log,) = tmp_path.iterdir()
    assert str(log) in hint
    assert "Traceback" in log.read_text(encoding="utf-8")


@pytest.fixture
def without_temporary_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    """Leave no folder that temporary files can be written to."""
    monkeypatch.setattr("tempfile.tempdir", None)
    monkeypatch.setattr("tempfile._candidate_tempdir_list", lambda: ["/nowhere"])


@pytest.mark.usefixtures("without_temporary_folder")
def test_a_command_that_finds_no_temporary_folder_says_how_to_name_one(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    with pytest.raises(FileNotFoundError) as caught:
        tempfile.gettempdir()
    raising(caught.value, monkeypatch)
    assert call("show") == 2
    error, hint = capsys.readouterr().err.splitlines()
    assert error.startswith("error: No temporary file can be written: No usable temporary directory")
    assert "TMPDIR=" in hint


@pytest.mark.usefixtures("without_temporary_folder")
def test_a_fault_of_irbench_is_told_where_no_file_can_be_written(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    raising(ZeroDivisionError("by zero"), monkeypatch)
    assert call("show") == 70
    error, hint = capsys.readouterr().err.splitlines()
    assert error == "error: Internal error: ZeroDivisionError: by zero"
    assert "IRBENCH_DEBUG=1" in hint


def test_what_is_wrong_is_one_line_whatever_it_quotes(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    raising(click.UsageError("no \x1b[31m\nFORGED"), monkeypatch)
    assert call("show") == 2
    assert capsys.readouterr().err.splitlines()[0] == "error: no \N{REPLACEMENT CHARACTER}[31m FORGED"


@pytest.mark.parametrize("error", [ZeroDivisionError("by zero"), IrbenchError("It broke.")])
def test_the_traceback_is_there_for_those_who_ask(
    error: Exception, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    monkeypatch.setenv("IRBENCH_DEBUG", "1")
    raising(error, monkeypatch)
    assert call("show") in {2, 70}
    assert "Traceback" in capsys.readouterr().err


@pytest.mark.parametrize("arguments", [["--help"], ["models", "--format", "json"], ["models"]])
def test_a_reader_that_goes_away_hears_no_complaint(arguments: list[str]):
    reading, writing = os.pipe()
    os.close(reading)
    with os.fdopen(writing, "wb") as pipe:
        left = subprocess.run(
            [sys.executable, "-m", "irbench", *arguments], stdout=pipe, stderr=subprocess.PIPE, text=True, check=False
        )
    assert (left.returncode, left.stderr) == (141, "")


def test_a_terminal_without_unicode_still_gets_its_answer():
    listed = python("from irbench.cli import main; main(['models'])", PYTHONIOENCODING="ascii", PYTHONPATH="")
    assert listed.returncode == 0, listed.stderr
    assert "resnet50" in listed.stdout


def test_an_interrupt_while_the_command_line_is_imported_leaves_no_traceback(tmp_path: Path):
    (tmp_path / "click.py").write_text("import os, signal; os.kill(os.getpid(), signal.SIGINT)\n")
    called = subprocess.run(
        [sys.executable, "-P", "-m", "irbench", "models"],
        capture_output=True, text=True, check=False, env={**os.environ, "PYTHONPATH": str(tmp_path)},
    )  # fmt: skip
    assert (called.returncode, called.stdout, called.stderr) == (130, "", "error: interrupted\n")
