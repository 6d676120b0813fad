"""What the documents tell a reader to type, to open or to expect is there."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
from functools import partial
from pathlib import Path

import click
import models
import numpy as np
import onnx
import pytest
from decoders import write_decoder
from followed_documents import understand
from onnx import TensorProto, helper
from small_calls import in_small

from irbench.cli import EXIT_CODES, cli, declared_commands
from irbench.errors import ExitCode

ROOT = Path(__file__).parents[2]
FOLLOWED = [ROOT / "README.md", ROOT / "docs" / "what-to-compare.md"]
"""The documents whose commands are called, each in a folder of its own."""
DOCUMENTS = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]
DEFECT = 70
"""The one exit code that no caller may rely on: a defect of irbench itself."""

KERAS_FILE = """
import keras
keras.Sequential([keras.Input((8, 8, 3)), keras.layers.Flatten(), keras.layers.Dense(4)]).save("my_model.keras")
"""
PACKAGE = """
def my_function():
    import keras
    return keras.Sequential([keras.Input((8, 8, 3)), keras.layers.Conv2D(4, 3), keras.layers.Flatten()])
"""


def without_fences(text: str) -> str:
    return re.sub(r"^```.*?^```", "", text, flags=re.MULTILINE | re.DOTALL)


def shown_lines(text: str) -> list[str]:
    """Return the indented lines that are commands, in order, without what a shell takes for a comment."""
    lines = re.findall(r"^    ((?:irbench|make) .*)$", without_fences(text), re.MULTILINE)
    return [shlex.join(shlex.split(line, comments=True)) for line in lines]


def calls(text: str) -> list[str]:
    """Return every call of irbench: lines of their own, and words within a sentence."""
    within = re.findall(r"`((?:irbench) [^`]+)`", without_fences(text))
    return [
        shown_line
        for shown_line in (*shown_lines(text), *within)
        if shown_line.startswith("irbench ") and "..." not in shown_line
    ]


WRITTEN = [path for path in DOCUMENTS if ROOT / "docs" / "reference" not in path.parents]
"""By hand: what is generated has forms of calls, and examples whose files are not here."""
CALLS = [(path.name, item) for path in WRITTEN for item in calls(path.read_text())]


def anchors(text: str) -> set[str]:
    """Return the anchors of a document's headings, as GitHub makes them."""
    headings = re.findall(r"^#+ (.*)$", without_fences(text), re.MULTILINE)
    return {re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in headings}


def test_every_relative_link_leads_somewhere(subtests: pytest.Subtests):
    for path in DOCUMENTS:
        with subtests.test(path=path):
            for target in re.findall(r"\]\(([^)\s]+)\)", without_fences(path.read_text())):
                if re.match(r"[a-z]+:", target):
                    continue
                name, _, anchor = target.partition("#")
                other = path.parent / name if name else path
                assert other.exists(), target
                assert not anchor or anchor in anchors(other.read_text()), target


def test_every_call_in_a_document_is_one_that_irbench_understands(subtests: pytest.Subtests):
    assert len(CALLS) > 10
    for document, call in CALLS:
        with subtests.test(document=document, call=call):
            understand(call)


def test_every_target_of_make_that_is_named_exists():
    targets = set(re.findall(r"^([a-z][a-z-]*):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    words = [re.findall(r"(?:^    |`)make ([a-z][a-z-]*)", path.read_text(), re.MULTILINE) for path in DOCUMENTS]
    named = {name for found in words for name in found}
    assert {"demo", "test"} <= named <= targets


def test_contributing_and_make_name_the_same_durations():
    duration = re.compile(r"(?:up to |about )?(?:\d+ minutes|half an hour|an hour|two hours)")
    made = {
        name: duration.findall(line)
        for name, line in re.findall(r"^([a-z-]+):.*?## (.*)$", (ROOT / "Makefile").read_text(), re.MULTILINE)
    }
    named = re.findall(r"^    make ([a-z-]+) +# (.*)$", (ROOT / "CONTRIBUTING.md").read_text(), re.MULTILINE)
    assert {name: made[name] for name, line in named if made[name]} == {
        name: duration.findall(line) for name, line in named if made[name]
    }


def test_the_exit_code_of_what_is_undecided_names_every_command_that_is_strict():
    commands = {name: cli.get_command(click.Context(cli), name) for name in declared_commands()}
    strict = {
        name
        for name, command in commands.items()
        if command is not None and any(option.name == "strict" for option in command.params)
    }
    listed = EXIT_CODES["4"].partition("with --strict also ")[2].rstrip(")")
    assert set(listed.split(", ")) == strict


def test_a_missed_goal_of_the_intervals_is_marked_as_missed():
    section = (ROOT / "docs" / "performance.md").read_text().partition("### Real work")[2].partition("\n### ")[0]
    rows = re.findall(r"^\|.*?\| (\d+) of (\d+)(.*?) \|", section, re.MULTILINE)
    assert rows
    for found, of, mark in rows:
        assert ("missed" in mark) == (int(found) / int(of) < 17 / 20 and int(of) > 3)


def test_the_exit_codes_of_the_reference_are_those_of_the_program():
    table = (ROOT / "docs" / "reference" / "exit-codes.md").read_text()
    assert {int(code) for code in re.findall(r"^\| (\d+) \|", table, re.MULTILINE)} == {*map(int, ExitCode), DEFECT}


def needs_more_than_a_machine(command: str) -> bool:
    return command.startswith(FOLLOWED_ELSEWHERE) or "--counters" in command  # of a processor that shows them


FOLLOWED_ELSEWHERE = (
    "irbench doctor --peak",
    "irbench ab ",
    "irbench bisect ",
    "irbench reduce ",
    "irbench sweep ",
    "irbench fleet ",
    "irbench run --resume",
)
"""Commands that measure a machine for minutes, download runtimes, measure many tables or on many machines, or need a
difference or an interrupted run; tests of their own follow them."""


FOUND_BY_COMPARISONS = {ExitCode.OK, ExitCode.DIFFERENT, ExitCode.NOT_JUDGED}
"""Two quick runs of the same on a busy machine may differ, and have too few launches to be judged."""


def prepare_inputs(folder: Path) -> None:
    """Write the models and the data that the documents name: one on real inputs, decoders, and two alike."""
    value = partial(helper.make_tensor_value_info, elem_type=TensorProto.FLOAT, shape=[1, 8])
    cast = helper.make_node("Cast", ["sr"], ["rate"], to=TensorProto.FLOAT)
    rate = helper.make_tensor_value_info("sr", TensorProto.INT64, [])
    graphs = {
        "speech": (
            [cast, helper.make_node("Mul", ["sound", "rate"], ["loud"])],
            [value("sound"), rate],
            [value("loud")],
        ),
        "rnn_step": ([helper.make_node("Tanh", ["h0"], ["h"])], [value("h0")], [value("h")]),
    }
    for name, (nodes, inputs, outputs) in graphs.items():
        graph = helper.make_graph(nodes, name, inputs, outputs)
        model = helper.make_model(graph, ir_version=8, opset_imports=[helper.make_opsetid("", 17)])
        onnx.save(model, folder / f"{name}.onnx")
    (folder / "speech").mkdir()
    np.savez(folder / "speech" / "one.npz", sound=np.ones((1, 8), np.float32))
    models.mlp(folder).path.rename(folder / "fp32.onnx")
    for copy in ("int8.onnx", "base.onnx", "new.onnx"):
        shutil.copy(folder / "fp32.onnx", folder / copy)
    write_decoder(folder / "decoder.onnx")


@pytest.mark.slow
@pytest.mark.parametrize("document", FOLLOWED, ids=lambda document: document.stem)
def test_the_commands_of_a_document_work_one_after_the_other(document: Path, tmp_path: Path, own_home: Path):
    def follow(command: str) -> None:
        done = subprocess.run(command, shell=True, cwd=tmp_path, env=user, capture_output=True, text=True, timeout=600)
        accepted = FOUND_BY_COMPARISONS if command.startswith(("irbench compare", "irbench gate")) else {ExitCode.OK}
        assert done.returncode in accepted, f"{command}\n{done.stdout}\n{done.stderr}"

    user = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    user["PATH"] = os.pathsep.join([str(Path(sys.executable).parent), user["PATH"]])
    (tmp_path / "my_package.py").write_text(PACKAGE)
    # a newcomer's model runs as it is
    make = models.mlp if document.stem == "README" else models.two_inputs
    make(tmp_path).path.rename(tmp_path / "model.onnx")
    prepare_inputs(tmp_path)
    follow(f"python -c {shlex.quote(KERAS_FILE)}")
    shown = [line for line in shown_lines(document.read_text()) if line.startswith("irbench ")]
    commands = [in_small(line) for line in shown if not needs_more_than_a_machine(line)]
    assert len(commands) > 5
    for command in commands:
        follow(command)
