"""What shells put into a command line for a file, whatever it is called: one word, and nothing that runs."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from front_door import irbench
from shells import Shell

NAMES = [
    "$(touch pwned)", "`touch pwned`", ";touch pwned;", "&touch pwned", "|touch pwned", ">pwned", "${IFS}x", "\\x y",
    "*?[x]", "'x", '"x', "#x=y~z", "(x){y,z}", "!x", "a:b c",
]  # fmt: skip
COMMANDS = {f"0{chr(ord('a') + place)}": f"0{chr(ord('a') + place)}{name}" for place, name in enumerate(NAMES)}
"""Names of files that would run a command, be split, or become other names, by their first two letters."""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return a folder of such files."""
    held = tmp_path / "held"
    held.mkdir()
    for name in COMMANDS.values():
        (held / f"{name}.onnx").touch()
    (held / "-z.onnx").touch()
    (held / "forged\nplain,w$(touch pwned).onnx").touch()
    return held


def opened(shell: str, folder: Path) -> Shell:
    if shutil.which(shell) is None:
        pytest.skip(f"{shell} is not installed here")
    return Shell(shell, irbench("completion", shell).out, folder, folder.parent)


def assert_words(shell: Shell, folder: Path, typed: str, name: str) -> None:
    before = sorted(path.name for path in folder.iterdir())
    assert shell.words_of(typed, ends_with=".onnx") == ["run", name]
    assert sorted(path.name for path in folder.iterdir()) == before


def test_bash_runs_no_command_of_a_name(folder: Path) -> None:
    with opened("bash", folder) as shell:
        assert_words(shell, folder, "irbench run 0a", "0a$(touch pwned).onnx")


@pytest.mark.slow
@pytest.mark.parametrize("quote", ["", "'", '"'])
@pytest.mark.parametrize("name", ["bash", "zsh", "fish"])
def test_each_shell_takes_a_name_as_one_word(name: str, quote: str, folder: Path) -> None:
    with opened(name, folder) as shell:
        for beginning, stem in COMMANDS.items():
            assert_words(shell, folder, f"irbench run {quote}{beginning}", f"{stem}.onnx")


@pytest.mark.ci
@pytest.mark.parametrize("name", ["bash", "zsh", "fish"])
def test_what_several_names_have_in_common_is_quoted_too(name: str, folder: Path) -> None:
    for stem in COMMANDS.values():
        (folder / f"{stem}.onnx").rename(folder / f"{stem}end1.onnx")
        (folder / f"{stem}end2.onnx").touch()
    with opened(name, folder) as shell:
        for beginning, stem in COMMANDS.items():
            before = sorted(path.name for path in folder.iterdir())
            assert shell.words_of(f"irbench run {beginning}", ends_with="end") == ["run", f"{stem}end"]
            assert sorted(path.name for path in folder.iterdir()) == before


@pytest.mark.slow
def test_bash_replaces_a_word_of_which_a_part_is_quoted(folder: Path) -> None:
    with opened("bash", folder) as shell:
        for typed in ("'0'a", '"0"a\\$', "0a'$(", "0'a$'\\("):
            assert_words(shell, folder, f"irbench run {typed}", "0a$(touch pwned).onnx")


def test_a_file_that_is_called_like_an_option_is_offered_as_a_path(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from irbench.terminal.completion import files_begun

    monkeypatch.chdir(folder)
    assert "./-z.onnx" in set(files_begun(""))


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_a_line_break_in_a_name_forges_no_offer(shell: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)
    for variable, value in {
        "_IRBENCH_COMPLETE": f"{shell}_complete",
        "COMP_LINE": "irbench run forged",
        "COMP_WORDS": "irbench run forged",
        "COMP_CWORD": "forged" if shell == "fish" else "2",
    }.items():
        monkeypatch.setenv(variable, value)
    assert "touch" not in irbench().out
