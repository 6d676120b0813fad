"""The command line: one module per command, loaded only when it is called."""

from __future__ import annotations

import difflib
import importlib
import os
import sys
import tempfile
import traceback
from collections.abc import Sequence
from typing import Any

import click

from irbench import __version__
from irbench.errors import ExitCode, IrbenchError

__all__ = ["cli", "main"]

_COMMANDS = {
    "export": "Export models to bundles that every backend can run.",
    "run": "Measure models on backends: which is fastest, by how much, for certain.",
    "backends": "List the runtimes: versions, devices, or what installs them.",
    "models": "List the models of the zoo.",
    "results": "List the stored runs.",
    "show": "Print a stored run again.",
}
"""Help without imports: the text stands here, the command in the module of its name."""

_EXAMPLES = """\b
Examples:
  irbench export resnet50
  irbench run --backends ort,openvino --streams 4
  irbench run model.onnx --batch 1,8 --quick
  irbench show --format json
"""


class _Lazy(click.Group):
    """Imports a command's module when the command is called, and only then."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - click's signature
        return list(_COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002 - click's signature
        if cmd_name not in _COMMANDS:
            return None
        command = importlib.import_module(f"irbench.cli.{cmd_name}").command
        assert isinstance(command, click.Command)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002 - click's signature
        with formatter.section("Commands"):
            formatter.write_dl(list(_COMMANDS.items()))

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        name = args[0]
        if name not in _COMMANDS and not name.startswith("-"):
            near = difflib.get_close_matches(name, _COMMANDS, n=1)
            hint = f"Did you mean {near[0]}? " if near else ""
            raise IrbenchError(f"There is no command {name!r}.", hint=f"{hint}Commands: {', '.join(_COMMANDS)}.")
        return super().resolve_command(ctx, args)


@click.group(
    cls=_Lazy,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    epilog=_EXAMPLES,
)
@click.version_option(__version__, "--version", prog_name="irbench", message="%(prog)s %(version)s")
def cli() -> None:
    """Find out which runtime, precision, thread and stream setting runs a network fastest here.

    A model is exported from TensorFlow to ONNX, run by every backend under one timing protocol, its outputs
    verified, and the backends compared with an interval on every speedup.
    """


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line and exit: the one place where errors become words and exit codes."""
    sys.exit(_run(arguments))


def _run(arguments: Sequence[str] | None) -> int:
    try:
        result: Any = cli.main(args=arguments, prog_name="irbench", standalone_mode=False)
        sys.stdout.flush()
    except IrbenchError as error:
        _complain(error.message, error.hint)
        return int(error.exit_code)
    except click.ClickException as error:
        _complain(error.format_message().replace("\n\n", " ").strip(), _usage_hint(error))
        return int(ExitCode.USAGE)
    except (KeyboardInterrupt, click.Abort):
        _complain("Interrupted.", "")
        return int(ExitCode.INTERRUPTED)
    except BrokenPipeError:
        # the reader has gone, as `| head` does; a second complaint at exit must not follow
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return int(ExitCode.OK)
    except Exception as error:  # noqa: BLE001 - the last resort: a user never sees a traceback
        return _unexpected(error)
    return int(result or 0)


def _usage_hint(error: click.ClickException) -> str:
    context = getattr(error, "ctx", None)
    path = context.command_path if isinstance(context, click.Context) else "irbench"
    return f"See {path} --help."


def _unexpected(error: Exception) -> int:
    if os.environ.get("IRBENCH_DEBUG"):
        traceback.print_exc()
        return int(ExitCode.USAGE)
    with tempfile.NamedTemporaryFile("w", prefix="irbench-", suffix=".log", delete=False) as log:
        traceback.print_exc(file=log)
    _complain(
        f"Something irbench did not expect: {type(error).__name__}: {error}",
        f"Please report it with {log.name}, where the details are.",
    )
    return int(ExitCode.USAGE)


def _complain(message: str, hint: str) -> None:
    click.echo(f"error: {message}", err=True)
    if hint:
        click.echo(f"hint: {hint}", err=True)
