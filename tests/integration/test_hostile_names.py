"""Names in models and stored runs, whatever they hold, steer nothing that a command prints to."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import compared_runs
import models
import onnx
import pytest
from documents import ENVIRONMENT, example, launch
from front_door import irbench
from hostile_text import (
    HOSTILE,
    harmless_in_markdown,
    harmless_in_spreadsheets,
    harmless_on_a_terminal,
    poisoned,
)
from onnx import TensorProto, helper
from stored_plans import stored_plan

from irbench.store.folders import default_root
from irbench.store.runs import RunWriter, Store

NAMED = f"name{HOSTILE}"
"""Runtimes refuse some names that begin with a sign."""
CHECKS: dict[str, Callable[[str], bool]] = {
    "table": harmless_on_a_terminal, "json": harmless_on_a_terminal, "jsonl": harmless_on_a_terminal,
    "csv": harmless_in_spreadsheets, "md": harmless_in_markdown,
}  # fmt: skip


def _texts(message: Any) -> Iterator[tuple[Any, Any]]:
    """Yield each field of text in a protobuf message, with the message that has it."""
    for field, held in message.ListFields():
        for inner in held if field.is_repeated else [held]:
            if field.type == field.TYPE_MESSAGE:
                yield from _texts(inner)
        if field.type == field.TYPE_STRING:
            yield message, field


@pytest.fixture
def hostile_model(tmp_path: Path) -> Path:
    """Return a model with the hostile text in every name: operators, domains, tensors, dimensions, properties."""
    product = helper.make_node("MatMul", ["x", "w"], ["y"], "product", doc_string="a")
    unknown = helper.make_node("Own", ["y"], ["z"], "own", domain="domain", attribute="a")
    graph = helper.make_graph(
        [product, unknown],
        "graph",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["rows", 4])],
        [helper.make_tensor_value_info("z", TensorProto.FLOAT, ["rows", "columns"])],
        [helper.make_tensor("w", TensorProto.FLOAT, [4, 3], [0.5] * 12)],
        doc_string="a",
    )
    model = helper.make_model(
        graph,
        opset_imports=[helper.make_opsetid("", 17), helper.make_opsetid("domain", 1)],
        producer_name="producer",
        producer_version="1",
    )
    helper.set_model_props(model, {"key": "value"})
    for message, field in list(_texts(model)):
        held = getattr(message, field.name)
        if field.is_repeated:
            held[:] = [text and NAMED + text for text in held]
        elif held and held != "MatMul":
            setattr(message, field.name, NAMED + held)
    onnx.save(model, tmp_path / "m.onnx")
    return tmp_path / "m.onnx"


@pytest.mark.ci
@pytest.mark.parametrize(
    "arguments",
    [
        ("inspect", "MODEL"), ("inspect", "MODEL", "--format", "json"), ("inspect", "MODEL", "MODEL"),
        ("inspect", "MODEL", "--batch", "2"), ("inspect", "MODEL", "--shape", "nobody=2"),
        *(("cost", "MODEL", "--per-node", "--format", form) for form in ("table", "json", "csv", "md")),
        ("cost", "MODEL", "--shape", "nobody=2"), ("optimize", "MODEL"), ("verify", "MODEL", "--backends", "fake-a"),
        ("run", "MODEL", "--backends", "fake-a", "--dry-run"),
    ],
    ids=" ".join,
)  # fmt: skip
@pytest.mark.usefixtures("known_backends")
def test_names_in_a_model_are_harmless(arguments: tuple[str, ...], hostile_model: Path) -> None:
    called = irbench(*(hostile_model if word == "MODEL" else word for word in arguments))
    assert called.code != 70, called.err
    assert harmless_on_a_terminal(called.err)
    assert CHECKS.get(arguments[-1], harmless_on_a_terminal)(called.out)
    if "json" in arguments:
        assert repr(NAMED)[1:-1] in str(json.loads(called.out))


def test_the_title_of_a_graph_is_one_line_whatever_a_domain_holds(tmp_path: Path) -> None:
    graph = helper.make_graph(
        [helper.make_node("Relu", ["x"], ["y"])],
        "graph",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 4])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [1, 4])],
    )
    domains = [helper.make_opsetid("", 17), helper.make_opsetid("own\nFORGED", 1)]
    onnx.save(helper.make_model(graph, opset_imports=domains, ir_version=8), tmp_path / "m.onnx")
    title = irbench("inspect", tmp_path / "m.onnx").out.splitlines()[0]
    assert "own FORGED 1" in title


def _poisoned(writer: RunWriter) -> RunWriter:
    sound = writer.document
    writer.commit(poisoned(sound, (sound.run_id, sound.created, "fp32", *sound.launches, *sound.launches.values())))
    return writer


@pytest.fixture
def hostile_runs() -> list[str]:
    """Store two runs that can be compared, and one with everything that the example has; return their ids."""
    root = default_root()
    stored = [compared_runs.store(root, {"ort": compared_runs.times(factor)}) for factor in (1.0, 1.2)]
    writer = Store(root).begin(
        ENVIRONMENT, stored_plan(models=["net"], name="n", note="a note", command=["irbench", "x"])
    )
    writer.add_launch(launch())
    writer.commit(replace(writer.document, groups=(example(),), complete=True))
    return [_poisoned(each).document.run_id for each in (*stored, writer)]


@pytest.mark.ci
@pytest.mark.parametrize(
    "arguments",
    [
        *(("results", "--format", form) for form in CHECKS), ("results", "--rebuild"), ("results", "--model", "none"),
        *(("show", "2", "--format", form) for form in CHECKS),
        ("show", "2", "--samples"), ("show", "2", "--samples", "--format", "jsonl"), ("show", "2", "--warnings"),
        *(("compare", "0", "1", "--format", form) for form in ("table", "json", "md")),
        *(("history", "--format", form) for form in ("table", "json", "md")),
        *(("results", "export", "2", "--format", form, "-o", "-") for form in (*CHECKS, "openmetrics", "bencher")
          if form not in ("table", "json")),
        ("plan", "from", "2"), ("receipt", "0"), ("run", "--resume", "2"), ("results", "rm", "2", "--yes"),
    ],
    ids=" ".join,
)  # fmt: skip
@pytest.mark.usefixtures("known_backends")
def test_names_in_stored_runs_are_harmless(
    arguments: tuple[str, ...], hostile_runs: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    called = irbench(*(hostile_runs[int(word)] if word in ("0", "1", "2") else word for word in arguments))
    assert called.code != 70, called.err
    assert harmless_on_a_terminal(called.err)
    form = arguments[arguments.index("--format") + 1] if "--format" in arguments else "table"
    check = harmless_in_spreadsheets if arguments[-1] == "--samples" else CHECKS.get(form, harmless_on_a_terminal)
    assert check(called.out)


@pytest.mark.ci
@pytest.mark.parametrize(
    "arguments",
    [
        ("report", "2", "-o", "out.html"), ("report", "0", "1", "-o", "out.html"),
        *(("report", "0", "1", "2", "--format", form, "-o", "out") for form in ("vega", "svg", "pdf")),
        ("report", "--site", "out", "--charts"),
    ],
    ids=" ".join,
)  # fmt: skip
@pytest.mark.usefixtures("known_backends")
def test_pages_and_charts_of_stored_runs_hold_names_as_harmless_text(
    arguments: tuple[str, ...], hostile_runs: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("altair", reason="needs the extra report")
    monkeypatch.chdir(tmp_path)
    called = irbench(*(hostile_runs[int(word)] if word in ("0", "1", "2") else word for word in arguments))
    assert called.code == 0, called.err
    assert harmless_on_a_terminal(called.err)
    written = [path for path in tmp_path.glob("out*/**/*") if path.suffix in (".html", ".svg", ".json")]
    written += tmp_path.glob("out.html")
    assert written or "pdf" in arguments
    for path in written:
        text = path.read_text(encoding="utf-8")
        assert harmless_on_a_terminal(text)
        assert path.suffix == ".json" or "<script>alert(1)" not in text


LONG = "a" * 300


@pytest.mark.parametrize(
    "asked",
    [
        ("run", LONG, "-o", "out.txt"),
        ("soak", LONG, "-o", "out.txt"),
        ("tune", f"{LONG}/net", "-o", "out.txt"),
        ("run", "mlp.onnx", "--cell", f"mine={LONG}.py:f"),
        ("run", "mlp.onnx", "--metric", f"{LONG}.py:f>=0.9"),
        ("reduce", "mlp.onnx", "--expect-wrong", "ort", "-o", LONG),
        ("ab", LONG, "--runtime", "ort", "--a", "1.20", "--b", "1.21"),
        ("ab", "mlp.onnx", "--runtime", "ort", "--a", LONG, "--b", "1.21"),
        ("ab", "mlp.onnx", "--runtime", "ort", "--a", f"{LONG}.whl", "--b", "1.21"),
        ("verify", "mlp.onnx", "--between", LONG, "1.2"),
        ("export", "resnet50", "--weights", LONG),
    ],
    ids=lambda asked: " ".join(word.replace(LONG, "long") for word in asked),
)
@pytest.mark.usefixtures("known_backends")
def test_a_name_too_long_for_any_file_is_one_line_and_its_remedy(
    asked: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    models.mlp(tmp_path)
    monkeypatch.chdir(tmp_path)
    called = irbench(*asked)
    assert called.code == 2, called.err
    *_, problem, remedy = called.err.splitlines()
    assert (problem[:7], remedy[:6]) == ("error: ", "hint: "), called.err


def test_a_model_of_a_plan_whose_name_no_file_can_have_is_one_line_and_its_remedy(tmp_path: Path) -> None:
    (tmp_path / "plan.toml").write_text('[defaults]\nmodels = "a\\u0000b.onnx"\n')
    for call in (("plan", "expand"), ("sweep",)):
        called = irbench(*call, tmp_path / "plan.toml")
        assert "Internal error" not in called.err
        assert called.code in (0, 2), called.err
