"""The pages of commands, made of what the command line declares."""

from __future__ import annotations

import inspect
import os
from collections.abc import Iterator, Mapping
from importlib import import_module
from pathlib import Path
from typing import get_args

import click

from documentation.markdown import GENERATED, block, code, prose, table
from irbench.cli import cli, declared_commands
from irbench.terminal.commands import Command, Heading
from irbench.terminal.groups import SectionedCommand

FOLDER = Path("docs/reference/commands")
INDEX = FOLDER / "README.md"
OPTION_INDEX = Path("docs/reference/options.md")


def command_pages() -> Iterator[tuple[Path, str]]:
    """Yield the path and the text of each page: one for each command, and their lists."""
    yield INDEX, _index()
    yield OPTION_INDEX, _option_index()
    for name, (module, declaration) in declared_commands().items():
        yield page_of(name), _page(declaration, guide_of(module))


def page_of(command: str) -> Path:
    """Return the page of a command."""
    return FOLDER / f"{command}.md"


def guide_of(module: str) -> Path:
    """Return the page that explains the feature whose module a command is in."""
    page: str = import_module(module.rpartition(".")[0]).PAGE
    return Path(page)


def _index() -> str:
    text = f"# Commands\n\n{GENERATED}\n\nEvery command prints its options with `--help`.\n"
    for heading in get_args(Heading):
        rows = [
            (f"[irbench {name}]({name}.md)", prose(declaration.summary))
            for name, (_, declaration) in declared_commands().items()
            if declaration.heading == heading
        ]
        text += f"\n## {heading}\n\n{table(('command', 'what it does'), rows)}"
    return text + "\n[Exit codes](../exit-codes.md) are the same for all of them.\n"


def _page(declaration: Command, guide: Path) -> str:
    title = (Path(__file__).parents[1] / guide).read_text().partition("\n")[0].removeprefix("# ")
    root = click.Context(cli, info_name="irbench")
    command = cli.get_command(root, declaration.name)
    assert command is not None
    described = "\n".join(_described(command, root, declaration.name, 1))
    link = f"Explained in [{title}]({os.path.relpath(guide, FOLDER)}).\n"
    heading, _, rest = described.partition("\n")
    return f"{heading}\n\n{GENERATED}\n{rest}\n{link}"


def _described(command: click.Command, parent: click.Context, name: str, level: int) -> Iterator[str]:
    """Yield the parts of a page: of a command, and of its subcommands one level below."""
    context = command.context_class(command, info_name=name, parent=parent)
    yield f"{'#' * level} {context.command_path}\n"
    yield block(f"{context.command_path} {' '.join(command.collect_usage_pieces(context))}")
    yield from _paragraphs(command.help or "")
    for title, options in sectioned_options(command, context).items():
        yield f"{'#' * (level + 1)} {title}{'' if level == 1 else f' of {name}'}\n"
        yield table(("option", "meaning", "default"), [_row(option, context) for option in options])
    if command.epilog:
        yield from _paragraphs(command.epilog.partition("\n\n")[0])
    if isinstance(command, click.Group):
        for inner in command.list_commands(context):
            found = command.get_command(context, inner)
            assert found is not None
            yield from _described(found, context, inner, level + 1)


def sectioned_options(command: click.Command, context: click.Context) -> Mapping[str, list[click.Option]]:
    """Return the options of a command by heading, without ``--help``."""
    if isinstance(command, SectionedCommand):
        found = command.sectioned_options(context)
    else:
        found = {"Options": [param for param in command.get_params(context) if isinstance(param, click.Option)]}
    shown = {
        title: [option for option in options if not option.hidden and not {"--help", "--help-all"} & {*option.opts}]
        for title, options in found.items()
    }
    return {title: options for title, options in shown.items() if options}


def _row(option: click.Option, context: click.Context) -> tuple[str, str, str]:
    record, extra = option.get_help_record(context), option.get_help_extra(context)
    assert record is not None
    default = "required" if "required" in extra else prose(str(extra.get("default", "")))
    return code(record[0]), prose(option.help or ""), default


def _paragraphs(text: str) -> Iterator[str]:
    """Yield the paragraphs of a help text; those that click does not wrap are blocks of code."""
    for paragraph in inspect.cleandoc(text).split("\n\n"):
        if paragraph.startswith("\b"):
            title, _, lines = paragraph.removeprefix("\b").strip("\n").partition("\n")
            yield f"{title}\n\n{block(inspect.cleandoc(lines))}"
        else:
            yield f"{prose(paragraph)}\n"


def _option_index() -> str:
    """Return a table of all options: what each means, and in which commands."""
    takers: dict[tuple[str, str], list[str]] = {}
    root = click.Context(cli, info_name="irbench")
    for name in cli.list_commands(root):
        command = cli.get_command(root, name)
        assert command is not None
        for option, context in _all_options(command, click.Context(command, info_name=name, parent=root)):
            flag = max(option.opts, key=len)
            path = context.command_path.removeprefix("irbench ")
            takers.setdefault((flag, prose(option.help or "")), []).append(f"[{path}](commands/{name}.md)")
    by_flag = sorted(takers, key=lambda named: named[0])
    rows = [(code(flag), meaning, ", ".join(takers[flag, meaning])) for flag, meaning in by_flag]
    intro = (
        "An option that means different things in different commands has a row for each meaning. The pages of the"
        " commands describe the values that it accepts and its default. In Python `--no-lock` is the keyword `no_lock`,"
        " and in plans the key `no-lock`."
    )
    return f"# Options\n\n{GENERATED}\n\n{intro}\n\n{table(('option', 'meaning', 'commands'), rows)}"


def _all_options(command: click.Command, context: click.Context) -> Iterator[tuple[click.Option, click.Context]]:
    for options in sectioned_options(command, context).values():
        for option in options:
            yield option, context
    if isinstance(command, click.Group):
        for name, inner in command.commands.items():
            yield from _all_options(inner, click.Context(inner, info_name=name, parent=context))
