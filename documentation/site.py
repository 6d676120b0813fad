"""Build the documentation site: ``python -m documentation.site`` writes it to build/docs.

The generator reads one folder, and pages link to files in all of the repository, such as the security policy, reference
runs and source code. A folder is therefore filled with the pages, and with the files that they link to, at the same
relative places, so that every link holds both in the repository and in the site.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import textwrap
import tomllib
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Any, TypeAlias
from urllib.parse import unquote

import click
import tomli_w

ROOT = Path(__file__).parents[1]
BUILD = ROOT / "build"
SETTINGS = Path(__file__).parent / "zensical.toml"
_ASSETS = Path(__file__).parent / "assets"
_PAGES = (
    "README.md",
    "CHANGELOG.md",
    "CONTRIBUTING.md",
    "SECURITY.md",
    "docs",
    "results/README.md",
    "results/reference",
)
_FENCE = re.compile(r"^```.*?^```", re.MULTILINE | re.DOTALL)
_COMMAND = r"(?:irbench|make|pip|python3?|sudo|\.venv/bin/\S+|[A-Z_]+=\S+)"
_COMMENTED = re.compile(rf"^( {{4,}}|)({_COMMAND} .*?) +# (.*)$", re.MULTILINE)
_WIDEST = 80
_TARGET = re.compile(r"\]\(([^)\s#]+)[^)]*\)")

Entry: TypeAlias = "str | list[Entry] | dict[str, Entry]"
"""Of a navigation: the path of a page or a folder, or a part with its title."""


def pages() -> list[Path]:
    """Return the Markdown files of the site."""
    named = [ROOT / name for name in _PAGES]
    return [page for path in named for page in (sorted(path.rglob("*.md")) if path.is_dir() else [path])]


def linked_files(page: Path) -> Iterator[Path]:
    """Yield the files of the repository that a page links to, other pages and pictures included."""
    for target in _TARGET.findall(_FENCE.sub("", page.read_text())):
        path = (page.parent / unquote(target)).resolve()
        if not re.match(r"[a-z]+:", target) and path.is_file() and path.is_relative_to(ROOT):
            yield path


def fill(folder: Path) -> None:
    """Copy pages, what they link to, and the assets of the site into an empty folder."""
    shutil.rmtree(folder, ignore_errors=True)
    found = pages()
    for path in {*found, *(linked for page in found for linked in linked_files(page))}:
        copy = folder / path.relative_to(ROOT)
        copy.parent.mkdir(parents=True, exist_ok=True)
        if path in found:
            copy.write_text(with_comments_above(path.read_text()))
        else:
            shutil.copyfile(path, copy)
    shutil.copytree(_ASSETS, folder / "assets")


def with_comments_above(text: str) -> str:
    """Return a page whose commands have their comment on a line above them, where both together are cut off.

    A window of 1280 pixels shows :data:`_WIDEST` characters of code between the two columns of navigation.
    """
    return _COMMENTED.sub(_shown_whole, text)


def _shown_whole(line: re.Match[str]) -> str:
    indent, command, comment = line.groups()
    if len(line[0]) - len(indent) <= _WIDEST:
        return line[0]
    lines = textwrap.wrap(comment, _WIDEST - 2)
    return "\n".join([*(f"{indent}# {line}" for line in lines), f"{indent}{command}"])


def settings() -> dict[str, Any]:
    """Return the settings of the generator, with every page of the navigation's folders."""
    read: dict[str, Any] = tomllib.loads(SETTINGS.read_text())
    project = read["project"]
    named = set(listed(project["nav"]))
    project["nav"] = [_expanded(entry, named) for entry in project["nav"]]
    return read


def listed(entry: Entry) -> Iterator[str]:
    """Yield the paths that a navigation holds."""
    if isinstance(entry, str):
        yield entry
    else:
        for inner in entry if isinstance(entry, list) else entry.values():
            yield from listed(inner)


def _expanded(entry: Entry, named: Collection[str]) -> Any:
    if isinstance(entry, dict):
        return {title: _expanded(inner, named) for title, inner in entry.items()}
    if isinstance(entry, list):
        return [page for inner in entry for page in _as_list(_expanded(inner, named))]
    return _folder(entry, named) if entry.endswith("/") else entry


def _as_list(entry: Any) -> list[Any]:
    return entry if isinstance(entry, list) else [entry]


def _folder(folder: str, named: Collection[str]) -> list[str]:
    """Return the pages of a folder that are not named elsewhere: its README first, the others by name."""
    found = sorted((ROOT / folder).rglob("*.md"), key=lambda page: (page.name != "README.md", page))
    return [name for page in found if (name := str(page.relative_to(ROOT))) not in named]


def generate(folder: Path) -> int:
    """Make the site of what ``docs-source`` holds, in ``docs``, and print what is wrong with it.

    Returns:
        The exit code of the generator: 1 where a link leads nowhere.
    """
    (folder / SETTINGS.name).write_text(tomli_w.dumps(settings()))
    shutil.rmtree(folder / "docs", ignore_errors=True)
    command = [sys.executable, "-m", "zensical", "build", "--clean", "--strict"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    click.echo(problems_in(done.stderr), err=True, nl=False)
    click.echo(done.stdout, nl=False)
    if not done.returncode:
        click.echo(f"open {os.path.relpath(folder / 'docs' / 'index.html')}")
    return done.returncode


def problems_in(errors: str) -> str:
    """Return what the generator says is wrong: without its traceback, of which the last line stays where it is all."""
    problems, _, traceback = errors.partition("Traceback (most recent call last)")
    return problems if problems.strip() else "".join(traceback.splitlines(keepends=True)[-1:])


if __name__ == "__main__":
    fill(BUILD / "docs-source")
    sys.exit(generate(BUILD))
