"""Programs are searched in absolute folders alone, and nothing of the current folder is given to those that start."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import irbench
from irbench.system.programs import clean_environment, find_program, python_process, required_program

ROOT = Path(irbench.__file__).parents[1]
STARTS = ("subprocess.", "asyncio.create_subprocess_", "os.exec", "os.popen", "os.posix_spawn", "os.spawn", "os.system")
"""How calls begin that start a program."""
IMPORTS = ("from subprocess ", "from multiprocessing ", "import multiprocessing")
"""What would start one under another name."""
OF_PYTHON = {"python_process", "worker_process"}
OTHER_PROGRAMS = {
    ("irbench/environments/uv.py", "call_uv"): "uv",
    ("irbench/measure/counter_support.py", "_run"): "perf",
    ("irbench/measure/perf_stat.py", "_start"): "perf, toplev",
    ("irbench/system/host.py", "lscpu"): "lscpu",
    ("irbench/worker/neighbour_hosts.py", "__init__"): "a command of the user's",
    ("irbench/worker/own_code/command_process.py", "_start"): "a command of the user's",
}
"""The functions that start something other than Python."""


@pytest.fixture
def hostile(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the current folder, which holds a program."""
    program = tmp_path / "here" / "some-tool"
    program.parent.mkdir()
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    monkeypatch.chdir(program.parent)
    return program.parent


@pytest.mark.parametrize("path", ["", ":/nowhere", "/nowhere::", ".", "../here:/nowhere"])
def test_the_current_folder_is_not_searched(path: str, hostile: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", path)
    assert find_program("some-tool") is None
    with pytest.raises(FileNotFoundError):
        required_program("some-tool")


def test_an_absolute_folder_is_searched(hostile: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", f":{hostile}")
    assert required_program("some-tool") == str(hostile / "some-tool")


def test_programs_are_started_without_search_paths_in_the_current_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", f":/usr/bin{os.pathsep}bin")
    monkeypatch.setenv("PYTHONPATH", ":")
    monkeypatch.setenv("LD_LIBRARY_PATH", "/opt/lib:/opt/none;")
    found = clean_environment()
    assert (found["PATH"], found["LD_LIBRARY_PATH"]) == ("/usr/bin", "/opt/lib:/opt/none")
    assert "PYTHONPATH" not in found
    monkeypatch.setenv("PATH", ".:")  # an empty text would be the current folder to a shell
    assert clean_environment()["PATH"] == os.defpath


def test_a_python_and_those_that_it_starts_import_nothing_of_the_current_folder(
    hostile: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("colorsys", "sitecustomize", "usercustomize"):
        (hostile / f"{name}.py").write_text(f"print('{name} of a stranger')\n")
    monkeypatch.setenv("PYTHONPATH", ":")
    grandchild = "import subprocess, sys; subprocess.run([sys.executable, '-c', 'import colorsys'], check=True)"
    for python, isolated in ((None, False), (None, True), (sys.executable, False)):
        for code in ("import colorsys", grandchild):
            command, environment = python_process("-c", code, python=python, isolated=isolated)
            assert subprocess.run(command, env=environment, capture_output=True, check=True).stdout == b""


def test_another_interpreter_searches_none_of_our_folders(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", "/ours")
    monkeypatch.setenv("SECRET", "x")
    assert python_process(without={"SECRET"})[1]["PYTHONPATH"] == "/ours"
    assert "SECRET" not in python_process(without={"SECRET"})[1]
    assert "PYTHONPATH" not in python_process(python="/env/bin/python")[1]


@pytest.mark.parametrize("of_the_user", [None, "1"])
def test_a_program_of_the_users_gets_the_safe_path_that_the_user_asked_for_and_not_ours(
    of_the_user: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("PYTHONSAFEPATH", raising=False)
    if of_the_user is not None:
        monkeypatch.setenv("PYTHONSAFEPATH", of_the_user)
    for _ in range(2):  # in irbench, in its worker
        (_, environment) = python_process()
        assert environment["PYTHONSAFEPATH"]
        assert clean_environment().get("PYTHONSAFEPATH") == of_the_user
        monkeypatch.setenv("PYTHONSAFEPATH", environment["PYTHONSAFEPATH"])


def other_starts(path: str, source: str) -> Iterator[str]:
    """Yield where a file starts something that may be a Python, or writes a command of one, without our function."""
    for function, node in _with_functions(ast.parse(source)):
        shown = f"{path}:{getattr(node, 'lineno', 0)}: {ast.unparse(node)[:80]}"
        if isinstance(node, ast.Call) and _starts(node):
            names = {ast.unparse(each.func) for each in ast.walk(function) if isinstance(each, ast.Call)}
            if not names & OF_PYTHON and (path, getattr(function, "name", "")) not in OTHER_PROGRAMS:
                yield shown
        elif isinstance(node, ast.List | ast.Tuple) and len(node.elts) > 1:
            words = [ast.unparse(word) for word in node.elts]
            if words[0] == "sys.executable" or "'-m'" in words:
                yield shown
        elif isinstance(node, ast.Import | ast.ImportFrom) and ast.unparse(node).startswith(IMPORTS):
            yield shown


def _starts(node: ast.Call) -> bool:
    called = ast.unparse(node.func)
    return called.startswith(STARTS) or "ProcessPoolExecutor" in called


def _with_functions(node: ast.AST, function: ast.AST | None = None) -> Iterator[tuple[ast.AST, ast.AST]]:
    """Yield all nodes with the function that they are in; words that are shown to somebody are left out."""
    if isinstance(node, ast.Call) and ast.unparse(node.func) == "shlex.join":
        return
    function = node if function is None or isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) else function
    yield function, node
    for child in ast.iter_child_nodes(node):
        yield from _with_functions(child, function)


def test_every_python_is_started_with_the_one_function() -> None:
    found: list[str] = []
    words = (*STARTS, "subprocess", "multiprocessing", "ProcessPoolExecutor", "sys.executable", '"-m"')
    for file in sorted(path for folder in ("irbench", "backends") for path in (ROOT / folder).rglob("*.py")):
        path, source = file.relative_to(ROOT).as_posix(), file.read_text(encoding="utf-8")
        if any(word in source for word in words):
            found += other_starts(path, source)
    assert found == []


@pytest.mark.parametrize(
    "code",
    [
        "subprocess.run([python, '-c', code])",
        "command = [sys.executable, script]",
        "command = (python, '-m', 'irbench')",
        "asyncio.create_subprocess_exec(python, script)",
        "os.execv(sys.executable, words)",
        "os.posix_spawn(python, words, {})",
        "import multiprocessing",
        "from multiprocessing import get_context",
        "from subprocess import Popen",
        "concurrent.futures.ProcessPoolExecutor()",
    ],
)
def test_another_way_to_start_one_is_found(code: str) -> None:
    assert list(other_starts("irbench/some.py", f"def function():\n    {code}\n"))
