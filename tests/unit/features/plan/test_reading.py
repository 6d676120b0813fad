"""A plan is read with all of its problems named at once, each with its place."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from irbench.errors import IrbenchError
from irbench.features.plan.reading import plan_file, read_plan, shipped_plans, summary


def written(folder: Path, text: str, name: str = "night.toml") -> Path:
    path = folder / name
    path.write_text(text)
    return path


def problems(document: dict[str, Any]) -> tuple[str, ...]:
    with pytest.raises(IrbenchError) as caught:
        read_plan(document)
    assert "irbench plan schema" in caught.value.hint
    return caught.value.details


def test_a_file_becomes_cells_under_its_own_name(tmp_path: Path):
    plan = read_plan(
        written(tmp_path, '[defaults]\nmodels = "net"\n[[matrix]]\nbatch = [1, 8]\nbackends = "ort:cpu"\n')
    )
    assert (plan.name, plan.folder) == ("night", tmp_path)
    assert [dict(cell.settings) for cell in sorted(plan.expansion.cells, key=lambda cell: cell.settings["batch"])] == [
        {"models": "net", "backends": "ort", "batch": 1},
        {"models": "net", "backends": "ort", "batch": 8},
    ]


def test_a_matrix_has_its_own_settings_over_the_defaults():
    defaults = {"models": "net", "batch": [1, 2], "budget": "90s"}
    plan = read_plan({"defaults": defaults, "matrix": [{"batch": 8, "budget": 5}, {"models": ["a", "b"]}]})
    found = {
        (cell.settings["models"], cell.settings["batch"], cell.settings["budget"]) for cell in plan.expansion.cells
    }
    assert found == {("net", 8, 5.0), *((model, batch, 90.0) for model in "ab" for batch in (1, 2))}


def test_defaults_alone_are_one_matrix():
    assert len(read_plan({"defaults": {"models": "net", "batch": [1, 2]}}).expansion.cells) == 2


def test_what_is_included_has_the_single_values_of_its_matrix():
    matrix = {"models": "net", "batch": [1, 2], "threads": 4, "include": [{"batch": 64, "threads": 1}]}
    plan = read_plan({"matrix": [matrix]})
    assert {(cell.settings["batch"], cell.settings["threads"]) for cell in plan.expansion.cells} == {
        (1, 4), (2, 4), (64, 1),
    }  # fmt: skip


def test_values_may_be_written_as_on_the_command_line():
    given = {
        "models": "net",
        "cpus": "3,0-1",
        "shape": {"tokens": [1, 128]},
        "set": {"ort": {"a": True, "b": 4}},
        "within": "1%",
        "sustain": "3s",
        "threads": "native",
    }
    (cell,) = read_plan({"defaults": given}).expansion.cells
    expected = {"cpus": "0-1,3", "shape": {"tokens": "1x128"}, "set": {"ort": {"a": "1", "b": "4"}}, "within": 0.01}
    assert {key: cell.settings[key] for key in expected} == expected
    assert (cell.settings["sustain"], cell.settings["threads"]) == (3.0, "native")


def test_stages_of_own_code_are_texts_in_order_and_checked_as_those_of_a_run():
    stages = {"decode": "pipe.py:decode", "model": "ort"}
    (cell,) = read_plan({"defaults": {"models": "net", "cells": {"mine": stages, "other": "./loop"}}}).expansion.cells
    assert list(cell.settings["cells"]["mine"].items()) == list(stages.items())
    for wrong in ({}, {"model": 3}, {"model": " "}, 3):
        (problem,) = problems({"defaults": {"models": "net", "cells": {"mine": wrong}}})
        assert problem.startswith("defaults.cells:")


def test_all_that_is_wrong_is_named_with_its_place_in_the_order_of_the_plan():
    document = {
        "nam": "x",
        "defaults": {"modles": "net", "budget": "soon", "quick": "yes"},
        "matrix": [
            {"batch": [0, 1, "doubling", 1.5], "precision": ["fp32", "fp33"], "models": []},
            {"streams": 0, "include": [{"shape": 7}], "exclude": [{"bach": 1}], "compare": ["batch", "threds"]},
            4,
        ],
    }
    found = problems(document)
    assert [line.partition(":")[0] for line in found] == [
        "nam",
        "defaults.modles",
        "defaults.budget",
        "defaults.quick",
        "matrix[0].batch[0]",
        "matrix[0].batch[3]",
        "matrix[0].precision[1]",
        "matrix[0].models",
        "matrix[1].streams",
        "matrix[1].include[0].shape",
        "matrix[1].exclude[0].bach",
        "matrix[1].compare[1]",
        "matrix[2]",
    ]
    said = dict(zip([line.partition(":")[0] for line in found], found, strict=True))
    assert "Did you mean models?" in said["defaults.modles"]
    assert "Did you mean batch?" in said["matrix[1].exclude[0].bach"]
    assert "Did you mean fp32?" in said["matrix[0].precision[1]"]
    assert "0 is not an integer of at least 1" in said["matrix[0].batch[0]"]
    assert "'soon' is not a duration" in said["defaults.budget"]
    assert '"yes" is neither true nor false' in said["defaults.quick"]
    assert "it is empty" in said["matrix[0].models"]


@pytest.mark.parametrize(
    ("matrix", "said"),
    [
        ({"batch": 1}, "matrix[0]: there is no model"),
        ({"models": "net", "batch": ["doubling", 8]}, "matrix[0].batch: "),
        ({"models": "net", "batch": "doubling", "compare": ["batch"]}, "matrix[0].batch: "),
        ({"models": "net", "batch": "doubling", "smallest-batch": 9, "largest-batch": 8}, "matrix[0].smallest-batch: "),
        ({"models": "net", "stop-gain": "5%"}, "matrix[0].stop-gain: "),
        ({"models": "net", "include": [{"batch": "doubling"}]}, "matrix[0].include: "),
        ({"models": "net", "exclude": [{"models": "other"}]}, "matrix[0].exclude[0]: it matches no cell"),
        ({"models": "net", "exclude": [{"models": "net"}]}, "its exclude leaves no cell"),
    ],
)
def test_values_that_contradict_each_other_are_refused(matrix: dict[str, Any], said: str):
    (found,) = problems({"matrix": [matrix]})
    assert found.startswith(said)


def test_several_contradictions_are_named_at_once():
    assert len(problems({"matrix": [{"batch": 1}, {"batch": ["doubling", 2]}]})) == 3


def test_a_batch_that_doubles_is_a_curve():
    plan = read_plan({"matrix": [{"models": "net", "batch": "doubling", "largest-batch": 8, "stop-gain": "10%"}]})
    assert [table.batch for table in plan.expansion.tables] == [1, 2, 4, 8]
    assert {table.step.stop_gain for table in plan.expansion.tables if table.step} == {0.1}


def test_batches_and_threads_take_turns_in_one_table_unless_a_plan_says_otherwise():
    plan = {"defaults": {"models": "net"}, "matrix": [{"batch": [1, 8], "threads": [1, "native"]}]}
    (table,) = read_plan(plan).expansion.tables
    assert table.row_count == 4
    assert len(read_plan({**plan, "compare": ["backends"]}).expansion.tables) == 4
    assert len(read_plan({**plan, "defaults": {"models": ["net", "other"]}}).expansion.tables) == 2


def test_threads_are_rows_of_each_table_of_a_curve():
    plan = read_plan({"matrix": [{"models": "net", "batch": "doubling", "largest-batch": 4, "threads": [1, 2]}]})
    assert [(table.batch, table.values("threads")) for table in plan.expansion.tables] == [
        (1, (1, 2)),
        (2, (1, 2)),
        (4, (1, 2)),
    ]


@pytest.mark.parametrize("name", shipped_plans())
def test_every_plan_that_is_shipped_is_valid_and_says_what_it_is_for(name: str):
    plan = read_plan(name)
    assert (plan.name, plan.folder) == (name, Path.cwd())
    assert plan.expansion.tables
    assert summary(name)


def test_the_shipped_table_has_every_runtime_batch_and_thread_count_and_calls_of_both_modes():
    tables = read_plan("inference-table").expansion.tables
    assert len(tables) == 5
    for table in tables:
        assert table.row_count == 24
        assert table.values("backends") == ("tf", "ort", "openvino")
        assert {(cell.settings["threads"], cell.settings["streams"]) for cell in table.cells} == {
            *((1, 1), (2, 1), (4, 1)),
            (4, 4),
        }


def test_a_file_goes_before_a_shipped_plan_of_its_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    name = shipped_plans()[0]
    assert plan_file(name).parent != Path()
    written(tmp_path, "", name)
    assert plan_file(name) == Path(name)


@pytest.mark.parametrize(
    ("name", "said", "hint"),
    [
        ("bath-curve", "There is no plan", "Did you mean batch-curve?"),
        ("missing.toml", "missing.toml cannot be read", "Check the path"),
        ("broken.toml", "broken.toml is not valid TOML", "Fix it"),
        ("bytes.toml", "bytes.toml is not valid TOML", "Fix it"),
    ],
)
def test_what_is_no_plan_is_refused(name: str, said: str, hint: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    written(tmp_path, "a = [1,", "broken.toml")
    (tmp_path / "bytes.toml").write_bytes(b'a = "\xff"')
    with pytest.raises(IrbenchError) as caught:
        read_plan(name)
    assert said in caught.value.message
    assert hint in caught.value.hint


@pytest.mark.parametrize("content", [b"\xff", b"[" * 100_000, b"a = " + b"[" * 100_000])
def test_a_file_that_is_no_toml_is_one_clear_error(tmp_path: Path, content: bytes):
    (tmp_path / "plan.toml").write_bytes(content)
    with pytest.raises(IrbenchError, match="is not valid TOML"):
        read_plan(tmp_path / "plan.toml")


def test_a_pipe_keeps_nobody_waiting(tmp_path: Path):
    os.mkfifo(tmp_path / "plan.toml")
    with pytest.raises(IrbenchError, match="not a regular file") as caught:
        read_plan(tmp_path / "plan.toml")
    assert caught.value.hint == "Save it to a file first."


def test_a_name_that_no_file_can_have_is_no_plan():
    with pytest.raises(IrbenchError, match="There is no plan"):
        plan_file("a" * 300)


BOMB = "\n".join(f"{axis} = {list(range(1, 300))}" for axis in ("batch", "streams", "instances", "threads", "seed"))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (f'[defaults]\nmodels = "net"\n{BOMB}\n', "2,389,769,101,499 combinations"),
        ("[" + "a." * 200_000 + "a]\n", "A key nests too deep (at line 1)"),
        ("\n" + "a . " * 200_000 + "a = 1\n", "A key nests too deep (at line 2)"),
        ('"a".' * 200_000 + "a = 1\n", "A key nests too deep (at line 1)"),
        ('"!".' * 200_000 + "a = 1\n", "A key nests too deep (at line 1)"),
        (r'"\"]".' * 150_000 + "a = 1\n", "A key nests too deep (at line 1)"),
        ("'a b' . " * 100_000 + "a = 1\n", "A key nests too deep (at line 1)"),
        ('"' + r"\"" * 500_000, "is not valid TOML"),
        ("x = " + "[" * 100_000, "recursion"),
        ("x = " + "9" * 5000, "is not valid TOML: Exceeds the limit"),
        ("# " + "a" * (1 << 20), "has more than 1 MB"),
    ],
    ids=[
        *("combinations", "header", "key", "quoted", "signs", "escapes", "literal", "unended"),
        *("values", "digits", "size"),
    ],
)
def test_a_plan_made_to_take_memory_or_time_without_end_is_refused_at_once(tmp_path: Path, text: str, said: str):
    with pytest.raises(IrbenchError) as caught:
        read_plan(written(tmp_path, text))
    assert said in " ".join((caught.value.message, *caught.value.details))


@pytest.mark.ci
def test_of_very_many_wrong_keys_the_first_are_named(tmp_path: Path):
    text = '[defaults]\nmodels = "net"\n' + "".join(f"wrong{number} = 1\n" for number in range(60_000))
    with pytest.raises(IrbenchError, match="has many problems") as caught:
        read_plan(written(tmp_path, text))
    assert len(caught.value.details) == 50
    assert caught.value.details[0].startswith("defaults.wrong0: there is no such key")


@pytest.mark.parametrize("text", ["# ........................................\n", "# " + "1.2, " * 100 + "\n"])
def test_dots_in_a_comment_are_no_deep_key(tmp_path: Path, text: str):
    assert read_plan(written(tmp_path, f'{text}[defaults]\nmodels = "net"\n')).expansion.cells


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ('[defaults]\nmodels = "net"\nslo = "p99<=50ms"\n', "defaults.slo"),
        ('[defaults]\nmodels = "net"\n[[matrix]]\nrate = [10, 50]\n', "matrix[0].rate"),
        ('[defaults]\nmodels = "net"\nscenario = "offline"\n', "defaults.scenario"),
        ('[defaults]\nmodels = "net"\nfor = "5s"\n', "defaults.for"),
        ('[defaults]\nmodels = "net"\nbatch-wait = "5ms"\n', "defaults.batch-wait"),
    ],
)
def test_a_plan_that_asks_for_requests_is_refused_with_what_gives_them(tmp_path: Path, text: str, place: str):
    with pytest.raises(IrbenchError) as caught:
        read_plan(written(tmp_path, text))
    (line,) = caught.value.details
    assert line.startswith(f"{place}: a plan gives no requests")
    assert "irbench serve" in line
