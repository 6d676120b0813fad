"""The command line: finds the commands of all features, imports the one that is called, and makes errors exit codes."""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any, get_args

import click

from irbench import __version__, features
from irbench.errors import DEBUG, ExitCode, IrbenchError, first_line, one_line
from irbench.terminal.commands import Command, Heading
from irbench.terminal.groups import COMPLETION, SuggestingGroup
from irbench.terminal.interrupts import as_interrupts
from irbench.terminal.standard_streams import OutputFailed, guarded_streams, is_unread
from irbench.terminal.stderr import home_warnings_shown, say, say_in_width

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

__all__ = ["EXIT_CODES", "cli", "declared_commands", "main"]

_INTERNAL_ERROR = 70
"""Exit code of a fault in irbench itself, as sysexits.h has it (EX_SOFTWARE)."""

_TEMPORARY_FOLDER = "Make room in the folder for temporary files, or name one that can be written: TMPDIR=FOLDER."

_DOES_MORE = {"rm", "import", "export", "--rebuild", "--confirm", "--fail-on", "--strict", "--output"}
"""Words with which commands that only print measure, change or write, or have an exit code that says what was found."""

_EXAMPLES = """\b
Examples:
  irbench run model.onnx
  irbench run model.onnx --batch 1,8 --quick
  irbench run resnet50 --backends ort,openvino --streams 4
  irbench show --warnings
"""

EXIT_CODES = {
    "0": "success",
    "1": "outputs do not match, soak found growing memory, verify --between found changed operators, doctor --aa found"
    " a difference between equals, gate, compare or history found a regression, replay refuted a claim, or reduce found"
    " that the whole graph does not show what is expected",
    "2": "invalid arguments, nothing that can be measured, or a result or output that cannot be written",
    "3": "at least one row failed, or a run could not be exported or imported; the others are stored,"
    " exported or imported",
    "4": "a verdict, the winner or a condition is undecided (bisect, doctor --aa, replay, reduce; with --strict also"
    " run, sweep, corun, soak, serve, train, ab, compare, history)",
    "5": "a requested backend or model is not installed",
    "6": "a condition of --fail-on could not be judged: too few launches or runs, a row or figure that is missing, or a"
    " busy machine (compare and history); or a gate was not decided",
    str(_INTERNAL_ERROR): "internal error in irbench",
    "130": "interrupted; finished launches are stored",
    "141": "a command that only prints, whose reader went away",
}
"""What each exit code means; docs/reference/exit-codes.md is made of it."""


@cache
def declared_commands() -> Mapping[str, tuple[str, Command]]:
    """Return the module and the declaration of each command by its name, in the order of the help."""
    declared = [
        (f"{package}.{command.module}", command)
        for package, commands in features.declared("COMMANDS")
        for command in commands
    ]
    declared.sort(key=lambda entry: (get_args(Heading).index(entry[1].heading), entry[1].rank, entry[1].name))
    return {command.name: (module, command) for module, command in declared}


def _imported(name: str) -> click.Command:
    """Import a command; its help ends with the page of the documentation."""
    module, _ = declared_commands()[name]
    command = importlib.import_module(module).command
    assert isinstance(command, click.Command)
    page = f"Documentation: {importlib.import_module(module.rpartition('.')[0]).PAGE}"
    if not (command.epilog or "").endswith(page):
        command.epilog = f"{(command.epilog or '').rstrip()}\n\n{page}"
    return command


class _Lazy(SuggestingGroup):
    """Imports a command's module when the command is called, and only then."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - click's signature
        return list(declared_commands())

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002 - click's signature
        return _imported(cmd_name) if cmd_name in declared_commands() else None

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        """Return commands and options that begin like this; click would import every command for its help."""
        from click.shell_completion import CompletionItem

        fitting = [
            CompletionItem(name, help=command.summary)
            for name, (_, command) in declared_commands().items()
            if name.startswith(incomplete)
        ]
        return fitting + click.Command.shell_complete(self, ctx, incomplete)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002 - click's signature
        """Write the everyday commands, then a section for each heading, the names as wide in each."""
        widest = max(map(len, declared_commands()))
        for heading in get_args(Heading):
            rows = [
                (name.ljust(widest), command.summary)
                for name, (_, command) in declared_commands().items()
                if command.heading == heading
            ]
            with formatter.section(f"{heading} commands" if heading == "Everyday" else heading):
                formatter.write_dl(rows)

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write examples, and which exit codes matter in scripts; docs/reference/exit-codes.md has all."""
        super().format_epilog(ctx, formatter)
        formatter.write_paragraph()
        formatter.write_text(
            "`irbench COMMAND --help` shows the options of a command. Exit code 0 means success, 2 a wrong call;"
            f" docs/reference/exit-codes.md lists all. Set {DEBUG}=1 to see the traceback of an error."
        )


@click.group(
    cls=_Lazy,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    epilog=_EXAMPLES,
)
@click.version_option(__version__, "--version", prog_name="irbench", message="%(prog)s %(version)s")
def cli() -> None:
    """Benchmark neural network inference on several runtimes, with confidence intervals.

    irbench runs an ONNX, PyTorch, Keras or JAX model on every installed runtime, checks that the outputs agree, and
    reports which configuration is fastest on this machine, and by how much.
    """


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line and exit: the one place where errors become words and exit codes."""
    try:
        code = _run(arguments)
    except KeyboardInterrupt as error:  # while the command's module is imported
        code = _explain(error, ())
    # an interrupt that passes code compiled from text, as of a dataclass, has `python -m irbench` die by SIGINT
    # instead of exiting with the code, though it was handled; running any other such code makes Python forget
    exec("")  # noqa: S102
    sys.exit(code)


def _run(arguments: Sequence[str] | None) -> int:
    words = sys.argv[1:] if arguments is None else arguments
    with guarded_streams() as output:
        if _only_prints(words):
            output.stop_with_reader()
        with home_warnings_shown():
            code = _call(words)
        failure = output.finish()
        return code if failure is None else _without_output(code, failure, words)


def _call(words: Sequence[str]) -> int:
    try:
        with as_interrupts():
            if COMPLETION in os.environ:
                # which click then asks instead of its own
                importlib.import_module("irbench.features.completion.shells")
            result: Any = cli.main(args=list(words), prog_name="irbench", standalone_mode=False)
    except (IrbenchError, click.ClickException, KeyboardInterrupt, click.Abort) as error:
        if os.environ.get(DEBUG):
            _say_traceback()
        return _explain(error, words)
    except OutputFailed:
        return int(ExitCode.OK)  # nothing but its output is missing
    except SystemExit as error:
        if COMPLETION in os.environ:
            return int(error.code or 0)
        return _unexpected(error)
    except Exception as error:  # noqa: BLE001 - the last resort: a user never sees a traceback
        return _unexpected(error)
    return int(result or 0)


def _without_output(code: int, failure: OSError, words: Sequence[str]) -> int:
    """Return the exit code of a command whose output could not be written; where that lost something, say so."""
    if is_unread(failure):
        return code or int(ExitCode.UNREAD if _only_prints(words) else ExitCode.OK)
    _complain(
        f"Standard output cannot be written: {failure.strerror}.",
        "Write to a file with enough room, for example with -o where the command has it.",
    )
    return code or int(ExitCode.USAGE)


def _explain(error: BaseException, arguments: Sequence[str]) -> int:
    if isinstance(error, IrbenchError):
        _complain(error.message, error.hint, error.details)
        return int(error.exit_code)
    if isinstance(error, click.exceptions.NoArgsIsHelpError):
        say(error.format_message())
        return int(ExitCode.USAGE)
    if isinstance(error, click.ClickException):
        _complain(_first_line(error), _usage_hint(error, arguments))
        return int(ExitCode.USAGE)
    _complain("interrupted", "")
    return int(ExitCode.INTERRUPTED)


def _only_prints(words: Sequence[str]) -> bool:
    path = _called_command(words).removeprefix("irbench").strip()
    name, _, subcommand = path.partition(" ")
    prints = not path or (name in declared_commands() and subcommand in declared_commands()[name][1].only_prints)
    return prints and not (path and any(map(_does_more, words)))


def _does_more(word: str) -> bool:
    return word.partition("=")[0] in _DOES_MORE or word.startswith("-o")


def _first_line(error: click.ClickException) -> str:
    alternatives = getattr(error, "possibilities", None)
    return " ".join((error.message if alternatives else error.format_message()).split())


def _usage_hint(error: click.ClickException, arguments: Sequence[str]) -> str:
    context = getattr(error, "ctx", None)
    path, command = _called(arguments)
    if isinstance(context, click.Context):
        path = context.command_path
    from irbench.cli.unknown_options import missing_value_hint, unknown_option_hint

    if isinstance(error, click.NoSuchOption):
        others = {f"irbench {name}": _imported(name) for name in declared_commands()}
        guess = unknown_option_hint(error.option_name, command, others)
    elif isinstance(error, click.BadOptionUsage):
        guess = missing_value_hint(error.option_name, command)
    else:
        guess = ""
    return f"{guess} See {path} --help.".lstrip()


def _called_command(arguments: Sequence[str]) -> str:
    return _called(arguments)[0]


def _called(arguments: Sequence[str]) -> tuple[str, click.Command]:
    """Return how a command is called, and itself: click's parser does not tell where an option is wrong."""
    command: click.Command = cli
    path = "irbench"
    for word in arguments:
        below = command.get_command(click.Context(command), word) if isinstance(command, click.Group) else None
        if below is None:
            break
        path, command = f"{path} {word}", below
    return path, command


def _say_traceback() -> None:
    import traceback

    say(traceback.format_exc().rstrip())


def _unexpected(error: BaseException) -> int:
    if os.environ.get(DEBUG):
        _say_traceback()
        return _INTERNAL_ERROR
    import tempfile
    import traceback

    try:
        with tempfile.NamedTemporaryFile("w", prefix="irbench-", suffix=".log", delete=False, errors="replace") as log:
            traceback.print_exc(file=log)
    except OSError as problem:
        return _without_temporary_folder(error, problem)
    _complain(_internal_error(error), f"Please report it and attach {log.name}.")
    return _INTERNAL_ERROR


def _without_temporary_folder(error: BaseException, problem: OSError) -> int:
    """Say that no temporary file can be written, which may well be why a command failed."""
    if isinstance(error, OSError):
        _complain(f"No temporary file can be written: {problem.strerror}.", _TEMPORARY_FOLDER)
        return int(ExitCode.USAGE)
    _complain(_internal_error(error), f"Set {DEBUG}=1 to see more of it, and please report it.")
    return _INTERNAL_ERROR


def _internal_error(error: BaseException) -> str:
    return f"Internal error: {type(error).__name__}: {first_line(error)}"


def _complain(message: str, hint: str, details: Sequence[str] = ()) -> None:
    say_in_width(f"error: {one_line(message)}")
    for detail in details:
        say_in_width(one_line(detail), indent="  ")
    if hint:
        say_in_width(f"hint: {one_line(hint)}")
