"""Functions of notebooks, lambdas and closures as rows: kept by what they do, and made again elsewhere."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from irbench.errors import IrbenchError
from irbench.options.kinds import CELLS, METRIC
from irbench.options.own_code import cells, metric
from irbench.options.pickled_functions import is_kept
from irbench.options.run import run_options
from irbench.requests.user_code import program_files, require_found
from irbench.spec import Program
from irbench.worker.own_code.callables import is_factory
from irbench.worker.own_code.imported_code import imported_function


@pytest.fixture(autouse=True)
def _own_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("IRBENCH_HOME", str(tmp_path))
    monkeypatch.setattr(sys, "path", list(sys.path))


def notebook(source: str, monkeypatch: pytest.MonkeyPatch, *, cell: str = "cell-1") -> ModuleType:
    """A module as a notebook is one: called main, without a file."""
    main = ModuleType("__main__")
    exec(compile(source, cell, "exec"), vars(main))
    monkeypatch.setitem(sys.modules, "__main__", main)
    return main


SOURCE = """
import numpy as np
factor = 3
def scaled(x):
    return x * factor
def infer(inputs):
    return [scaled(np.asarray(inputs["x"]))]
"""


def target(function: Any) -> str:
    return cells({"mine": function})["mine"].target


def test_a_function_of_a_notebook_brings_what_it_uses(monkeypatch: pytest.MonkeyPatch):
    kept = target(notebook(SOURCE, monkeypatch).infer)
    monkeypatch.undo()
    code = (
        "import sys, numpy; from irbench.worker.own_code.imported_code import imported_function\n"
        "print(imported_function(sys.argv[1])({'x': numpy.ones(2)})[0].tolist())"
    )
    done = subprocess.run([sys.executable, "-c", code, kept], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[3.0, 3.0]"


class Doubling:
    def __call__(self, inputs: dict[str, Any]) -> Any:
        return [inputs["x"] * 2]

    def method(self, inputs: dict[str, Any]) -> Any:
        return self(inputs)


def closure() -> Any:
    factor = 2
    return lambda inputs: [inputs["x"] * factor]


def scaled(factor: int, inputs: dict[str, Any]) -> Any:
    return [inputs["x"] * factor]


@pytest.mark.parametrize(
    "function", [lambda inputs: [inputs["x"] * 2], closure(), Doubling().method, Doubling(), partial(scaled, 2)]
)
def test_whatever_can_be_called_can_be_a_row(function: Any):
    made = imported_function(target(function))
    assert made({"x": np.ones(1)})[0].tolist() == [2.0]


def test_a_function_that_makes_the_timed_one_still_does():
    assert is_factory(imported_function(target(lambda cell: lambda inputs: [inputs["x"]])))


def test_equal_functions_are_one_wherever_they_are_written(monkeypatch: pytest.MonkeyPatch):
    first = target(notebook(SOURCE, monkeypatch).infer)
    moved = notebook(f"# a comment above\n\n{SOURCE}", monkeypatch, cell="cell-2-of-another-kernel")
    assert target(moved.infer) == first


SCRIPT = """
import sys
known = {"alpha", "beta", "gamma", b"delta", 1, ("a", 2), None}
alias = known
def infer(inputs):
    known.add("more")
    return [x for x in inputs if x in {"p", "q", "r", "s"} or x in known], known is alias, sorted(map(repr, alias))
"""
KEEP = "from irbench.options.pickled_functions import kept_function\nprint(kept_function(infer))"
CALL = "from irbench.worker.own_code.imported_code import imported_function as load\nprint(load(sys.argv[1])('pz'))"


def printed_by(folder: Path, source: str, seed: int, *arguments: str) -> str:
    folder.mkdir(exist_ok=True)
    script = folder / "script.py"
    script.write_text(f"{SCRIPT}{source}")
    environment = {**os.environ, "PYTHONHASHSEED": str(seed)}
    command = [sys.executable, str(script), *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=True, env=environment).stdout.strip()


@pytest.mark.ci
def test_equal_functions_of_scripts_are_one_in_each_process_and_folder(tmp_path: Path):
    kept = [printed_by(tmp_path / name, KEEP, seed) for name, seed in (("a", 1), ("b", 2), ("a", 3))]
    assert len(set(kept)) == 1
    elements = ["alpha", "beta", "gamma", b"delta", 1, ("a", 2), None, "more"]
    assert printed_by(tmp_path / "c", CALL, 4, kept[0]) == str((["p"], True, sorted(map(repr, elements))))


def test_a_function_that_reads_its_file_brings_its_path(monkeypatch: pytest.MonkeyPatch):
    main = notebook("__file__ = '/models/one'\ndef infer(inputs):\n    return [__file__]\n", monkeypatch)
    assert imported_function(target(main.infer))({}) == ["/models/one"]


def test_a_set_that_holds_the_function_itself_can_be_written(monkeypatch: pytest.MonkeyPatch):
    source = "known = set()\ndef infer(inputs):\n    return [len(known)]\nknown.add(infer)\n"
    assert imported_function(target(notebook(source, monkeypatch).infer))({}) == [1]


@pytest.mark.parametrize("change", [("factor = 3", "factor = 4"), ("x * factor", "x / factor")])
def test_what_a_function_uses_tells_it_from_others(change: tuple[str, str], monkeypatch: pytest.MonkeyPatch):
    first = target(notebook(SOURCE, monkeypatch).infer)
    assert target(notebook(SOURCE.replace(*change), monkeypatch).infer) != first


def test_the_file_is_what_a_run_checks_when_it_goes_on():
    program = cells({"mine": lambda inputs: [inputs["x"]]})["mine"]
    require_found({"mine": program})
    (file,) = program_files(program)
    file.unlink()
    assert program_files(program) == ()
    with pytest.raises(IrbenchError, match="is gone"):
        require_found({"mine": program})


def test_a_file_that_was_changed_is_not_run():
    kept = target(lambda inputs: [inputs["x"]])
    file = Path(kept.rpartition(":")[0])
    file.write_bytes(file.read_bytes() + b"more")
    with pytest.raises(IrbenchError, match="not the one that was kept"):
        imported_function(kept)


@pytest.mark.parametrize("folder", ["home", "my home", "home+1", "it's home"])
def test_it_is_read_from_a_plan_as_it_was(folder: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("IRBENCH_HOME", str(tmp_path / folder))
    asked = cells({"mine": lambda inputs: [inputs["x"]]})
    assert is_kept(asked["mine"].target)
    assert asked["mine"].kind == "callable"
    assert CELLS.read(CELLS.written(asked)) == asked
    own = metric((lambda inputs, outputs: 1.0, ">=0.9"))
    assert METRIC.read(METRIC.written(own)) == own


def test_a_function_beside_a_script_in_a_folder_with_a_blank_is_read_from_a_plan_as_it_was():
    asked = {
        "mine": Program("callable", "/my work/rows.py:infer"),
        "steps": Program("callable", "/a b/1.json:stages"),
        "loop": Program("command", "python rows.py:infer"),
    }
    assert CELLS.read(CELLS.written(asked)) == asked


def with_lock(lock: Any) -> Any:
    def infer(inputs: dict[str, Any]) -> Any:
        with lock:
            return [inputs["x"]]

    return infer


def test_what_cannot_be_sent_is_named_with_its_type_and_the_way_that_works(monkeypatch: pytest.MonkeyPatch):
    source = "import threading\nsession = threading.Lock()\ndef helper(x):\n    return session\n"
    main = notebook(f"{source}def infer(inputs):\n    return helper(inputs)\n", monkeypatch)
    with pytest.raises(IrbenchError, match=r"variable session, a lock, through helper") as caught:
        run_options([], {"cells": {"mine": main.infer}})
    assert 'cells={"mine": "my_file.py:infer"}' in caught.value.hint
    with pytest.raises(IrbenchError, match="variable lock, a lock"):
        run_options([], {"cells": {"mine": with_lock(threading.Lock())}})


def test_a_measure_of_accuracy_may_be_one_too():
    own = metric((lambda inputs, outputs: 1.0, ">=0.9"))
    assert is_kept(own.function)
    assert imported_function(own.function)([], []) == 1.0
