"""The user's own code as rows: which texts and values name it, and which are refused before anything is made."""

from __future__ import annotations

import importlib
import shlex
import sys
from contextlib import nullcontext
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from front_door import irbench

from irbench.core.output_check import tolerance
from irbench.errors import IrbenchError
from irbench.measure.durations import parse_durations
from irbench.options.own_code import Metric, cell_of_text, cells, metric, metric_text, min_accuracy
from irbench.options.run import RunOptions, run_options
from irbench.requests.user_code import accuracy_limit, program_files, require_found
from irbench.spec import AccuracyLimit, Program
from irbench.worker.own_code.command_process import command_words


def a_function(inputs: Any) -> None: ...


@pytest.mark.parametrize(
    ("text", "program"),
    [
        ("mine=package.loop:infer", Program("callable", "package.loop:infer")),
        ("mine=path/to/loop.py:infer", Program("callable", "path/to/loop.py:infer")),
        ("mine = ./loop", Program("command", "./loop")),
        ("mine=./loop --n=3 {model}", Program("command", "./loop --n=3 {model}")),
        ("mine=server host:port", Program("command", "server host:port")),
    ],
)
def test_a_single_word_with_a_colon_is_a_function_and_all_else_a_command(text: str, program: Program) -> None:
    assert cell_of_text(text) == ("mine", program)


def test_a_program_whose_name_has_a_colon_is_a_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("odd:name").touch()
    assert cell_of_text("mine=odd:name")[1].kind == "command"


@pytest.mark.parametrize(
    "text", ["mine", "mine=", "=./loop", "my row=./loop", "-x=./loop", "a/b=./loop", "mine='./loop"]
)
def test_other_texts_are_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"lacks|not a valid name|split into words"):
        cell_of_text(text)


def test_python_takes_functions_texts_and_words() -> None:
    found = cells({"a": parse_durations, "b": "./loop {model}", "c": ["./my loop", 3], "d": "package.loop:infer"})
    assert found == {
        "a": Program("callable", "irbench.measure.durations:parse_durations"),
        "b": Program("command", "./loop {model}"),
        "c": Program("command", "'./my loop' 3"),
        "d": Program("callable", "package.loop:infer"),
    }
    assert shlex.split(found["c"].target) == ["./my loop", "3"]


def test_a_function_of_a_module_without_a_package_is_named_by_its_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "module_of_a_notebook.py"
    file.write_text("def infer(inputs): ...\n")
    monkeypatch.syspath_prepend(tmp_path)
    module = importlib.import_module(file.stem)
    assert cells({"mine": module.infer}) == {"mine": Program("callable", f"{file}:infer")}


def test_a_function_of_the_script_that_runs_is_named_by_its_file(monkeypatch: pytest.MonkeyPatch) -> None:
    main = ModuleType("__main__")
    main.__file__ = __file__
    exec("def infer(inputs): ...", vars(main))
    monkeypatch.setitem(sys.modules, "__main__", main)
    assert cells({"mine": main.infer}) == {"mine": Program("callable", f"{__file__}:infer")}


@pytest.mark.parametrize(
    ("value", "said"),
    [
        ([], "at least one word"),
        (3, "not a function"),
    ],
)
def test_what_is_no_code_is_refused(value: Any, said: str) -> None:
    with pytest.raises(IrbenchError, match="cells=.* is not valid: .*" + said):
        run_options([], {"cells": {"mine": value}})


@pytest.mark.parametrize(
    ("program", "said", "hint"),
    [
        (Program("callable", "nothing_here:infer"), "There is no module nothing_here", "searched in"),
        (Program("callable", "nothing.py:infer"), "There is no file", "Check the path"),
        (Program("callable", "loop.py:infr"), "has no function infr", "Did you mean infer"),
        (Program("command", "./nothing-here"), "There is no program './nothing-here'", "without a shell"),
        (Program("command", "true {modle}"), "cannot have {modle}", "Did you mean {model}"),
    ],
)
def test_code_that_is_not_there_is_refused_without_running_any(
    program: Program, said: str, hint: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("loop.py").write_text("raise SystemExit\ndef infer(inputs): ...\n")
    with pytest.raises(IrbenchError) as caught:
        require_found({"mine": program})
    assert said in caught.value.message
    assert hint in caught.value.hint


def test_braces_that_mean_nothing_to_irbench_are_the_commands_own() -> None:
    command = "true {model} '{\"a\": 1}' {xyzzy}"
    require_found({"mine": Program("command", command)})
    assert command_words(command, {"model": "m.onnx"}) == ["true", "m.onnx", '{"a": 1}', "{xyzzy}"]


def test_a_row_cannot_be_called_like_a_backend() -> None:
    with pytest.raises(IrbenchError, match="has the name of a backend"):
        require_found({"fake-a": Program("command", "true")})


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--cell", "a=true", "--cell", "a=false"], "--cell a=true and --cell a=false cannot be combined"),
        (["--cell", "a=true", "--cold"], "--cold and --cell cannot be combined"),
        (["--backends", "none"], "leaves nothing to measure"),
        (["--cell", "a"], "lacks a name"),
        (["--cell", "a=there/is/none"], "There is no program 'there/is/none'"),
    ],
)
def test_the_command_line_refuses_what_cannot_be_measured(arguments: list[str], said: str) -> None:
    called = irbench("run", "model.onnx", *arguments)
    assert called.code == 2
    assert said in called.err.replace("\n", " ")


def test_a_run_within_a_process_of_another_run_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("IRBENCH_WORKER", "mark")
    called = irbench("run", "model.onnx")
    assert called.code == 2
    assert "__main__" in called.err


@pytest.mark.parametrize(
    "program",
    [
        Program("callable", "mine_here.py:infer"),
        Program("callable", "mine_here:infer"),
        Program("command", "python mine_here.py {model}"),
        Program("command", "./mine_here.py"),
    ],
    ids=["function of a file", "function of a module", "script", "program"],
)
def test_the_files_of_own_code_are_those_that_a_run_is_begun_with(
    program: Program, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    file = Path("mine_here.py")
    file.write_text("def infer(inputs): ...\n")
    file.chmod(0o755)
    assert file.resolve() in {path.resolve() for path in program_files(program)}


OWN = "irbench.core.output_check:tolerance"


def asked(**options: Any) -> AccuracyLimit | None:
    return accuracy_limit(RunOptions(**options))


@pytest.mark.parametrize(("given", "share"), [("99%", 0.99), ("99.5 %", 0.995), ("0.9", 0.9), (0.9, 0.9), (1, 1.0)])
def test_a_share_is_a_percentage_or_a_number(given: str | float, share: float) -> None:
    assert min_accuracy(given) == pytest.approx(share)


@pytest.mark.parametrize("given", ["all", "99 percent", "nan", True, None])
def test_anything_else_is_no_share(given: Any) -> None:
    with pytest.raises((TypeError, ValueError)):
        min_accuracy(given)


@pytest.mark.parametrize(
    ("given", "read"),
    [
        ("metrics.py:map50>=0.9", Metric("metrics.py:map50", "at-least", 0.9)),
        ("package.metrics:error <= 1e-3", Metric("package.metrics:error", "at-most", 0.001)),
        ("metrics.py:map50", Metric("metrics.py:map50")),
        ((tolerance, "<=0.1"), Metric(OWN, "at-most", 0.1)),
        (tolerance, Metric(OWN)),
    ],
)
def test_a_measure_is_a_function_with_its_limit(given: Any, read: Metric) -> None:
    assert metric(given) == read


@pytest.mark.parametrize(
    "given",
    ["map50>=0.9", "./program>=0.9", "m.py:fn>0.9", "m.py:fn==1", "m.py:fn>=high", "m.py:fn>=inf", 3],
)
def test_a_text_without_a_function_is_refused(given: Any) -> None:
    with pytest.raises((TypeError, ValueError)):
        metric(given)


def test_a_limit_is_that_of_either_option() -> None:
    assert asked() is None
    assert asked(min_accuracy=0.99) == AccuracyLimit(0.99)
    assert asked(metric=Metric(OWN, "at-most", 0.1)) == AccuracyLimit(0.1, "at-most", OWN)
    assert asked(metric=Metric(OWN), min_accuracy=30.0) == AccuracyLimit(30.0, "at-least", OWN)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"min_accuracy": 99.0}, "not a valid share"),
        ({"min_accuracy": 0.0}, "not a valid share"),
        ({"metric": Metric(OWN)}, "no limit"),
        ({"metric": Metric(OWN, "at-least", 0.9), "min_accuracy": 0.9}, "two limits"),
        ({"metric": Metric("gone.py:fn", "at-least", 0.9)}, "no file gone.py"),
    ],
)
def test_a_limit_that_cannot_be_meant_is_refused_with_the_way_out(options: dict[str, Any], message: str) -> None:
    with pytest.raises(IrbenchError, match=message) as caught:
        asked(**options)
    assert caught.value.hint


def test_a_measure_is_written_as_it_is_read() -> None:
    assert metric(metric_text(Metric("m.py:fn", "at-most", 0.25))) == Metric("m.py:fn", "at-most", 0.25)


@pytest.mark.parametrize(("bound", "kept", "better"), [("at-least", 0.9, 0.95), ("at-most", 0.9, 0.5)])
def test_a_limit_is_kept_by_its_own_value_and_by_better_ones(bound: Any, kept: float, better: float) -> None:
    limit = AccuracyLimit(0.9, bound)
    assert limit.allows(kept)
    assert limit.allows(better)
    assert limit.is_better(better, kept)
    assert not limit.allows(2 * kept - better)


def test_stages_of_python_are_found_checked_and_named_without_being_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "pipe.py").write_text("raise SystemExit('it is run')\ndef decode(inputs): ...\n")
    stages = {"decode": "pipe.py:decode", "model": "fake-a", "last": lambda outputs: outputs}
    program = cells({"mine": stages})["mine"]
    assert cells({"mine": dict(stages)})["mine"] == program, "equal stages are one file"
    assert cells({"mine": dict(reversed(stages.items()))})["mine"] != program, "their order counts"
    assert cells({"mine": program.target})["mine"] == program
    require_found({"mine": program})
    files = program_files(program)
    assert Path("pipe.py") in files
    assert len(files) == 3, "the list of stages, the module and the function that was kept"
    files[0].unlink()
    with pytest.raises(IrbenchError, match="mine") as gone:
        require_found({"mine": program})
    assert gone.value.hint


@pytest.mark.parametrize(
    ("text", "is_refused"),
    [
        ("stages = {'a': len, 'b': len, 'a': len}", True),
        ("def stages(cell):\n    return {'a': len, 'a': len}", True),
        ("def stages(cell):\n    other = {'x': 1, 'x': 2}\n    return {'a': len}", False),
        ("others = {'a': len, 'a': len}\nstages = {'a': len}", False),
    ],
)
def test_a_stage_that_is_named_twice_in_a_mapping_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str, is_refused: bool
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "pipe.py").write_text(text + "\n")
    refusal = pytest.raises(IrbenchError, match="two stages called a") if is_refused else nullcontext()
    with refusal:
        require_found({"mine": Program("callable", "pipe.py:stages")})
