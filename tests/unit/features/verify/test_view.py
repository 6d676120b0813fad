"""The scoreboard: who passed what, and why not."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from rich.console import Console

from irbench.core.record import Failure, OutputError
from irbench.core.row import CellResult, GivenInputs, Requested
from irbench.features.verify.cases import CaseResult, OperatorChange, Runtime, SuiteReport, counts
from irbench.features.verify.report import DataSets, ModelReport
from irbench.features.verify.view import model_view, suite_view
from irbench.notices import Reference
from irbench.render.text_document import Document


def result(name: str, operator: str, backend: str, outcome: Any, reason: str = "") -> CaseResult:
    return CaseResult(name, "node", operator, backend, outcome, reason, None, None)


CASES = (
    result("test_add", "Add", "ort", "passed"),
    result("test_add", "Add", "openvino", "passed"),
    result("test_relu", "Relu", "ort", "unsupported", "no kernel for Relu|13"),
    result("test_relu", "Relu", "openvino", "passed"),
    result("test_seq", "SequenceAt", "ort", "skipped", "a sequence"),
    result("test_seq", "SequenceAt", "openvino", "skipped", "a sequence"),
)
REPORT = SuiteReport(
    suite="onnx",
    suite_version="1.23.2",
    irbench_version="0.1.0",
    pattern=None,
    seconds=12.3,
    complete=True,
    backends=tuple(
        Runtime(name, name, "1.0", counts(case for case in CASES if case.backend == name))
        for name in ("ort", "openvino")
    ),
    cases=CASES,
)
CELL = CellResult(
    id="ort-cpu-fp32-x1",
    label="ort",
    artifact="onnx",
    backend="ort",
    device="cpu",
    mode="sync",
    batch=1,
    io="copy",
    requested=Requested(1, 1, "fp32"),
    effective={"precision": "fp32"},
    state="ok",
    output_error=OutputError(1e-6, 2e-6, 1.0, None),
)


def test_the_scoreboard_counts_for_each_backend_and_explains_each_operator_that_fails():
    lines = suite_view(REPORT).as_markdown().splitlines()
    assert lines[0] == "ONNX backend test suite of onnx 1.23.2: 3 cases, 12 s"
    assert "| ort | ort 1.0 | 1 | 0 | 1 | 0 | 1 |" in lines
    assert r"| Relu | ort | 0 | 0 | 1 | 0 | 0 | unsupported: no kernel for Relu\|13 |" in lines
    assert not any(line.startswith(("| Relu | openvino", "| SequenceAt")) for line in lines)
    assert lines[-3:] == ["ort passes every case of: Add.", "", "openvino passes every case of: Add, Relu."]


def test_an_interrupted_suite_says_so():
    said = suite_view(replace(REPORT, complete=False, pattern="test_a*")).as_markdown()
    assert said.startswith("ONNX backend test suite of onnx 1.23.2: 3 cases that match test_a\\*, 12 s")
    assert said.endswith("Interrupted: these are the results until then.\n")


def test_a_models_row_says_how_far_its_outputs_are():
    wrong = replace(CELL, label="openvino", state="mismatch", failure=Failure("verify", "wrong outputs", "Fix it."))
    report = ModelReport("mlp", Reference("export", "TensorFlow"), complete=True, cells=(CELL, wrong))
    said = model_view(report).as_markdown()
    assert said.startswith("mlp: outputs compared with TensorFlow at export\n")
    assert "| ort | fp32 | match | 2e-06 | 1e-06 | 1.000000 | - |" in said
    assert "| openvino | fp32 | WRONG |" in said
    assert said.endswith("openvino: wrong outputs. Fix it.\n")


def test_the_title_names_shapes_data_and_feedback():
    given = GivenInputs("calls/speech", 3, {}, {"sr": (8000,)}, {"h0": "h"})
    shapes = {"audio": (1, 512), "sr": ()}
    report = ModelReport("vad", Reference("backend", "ort"), True, (CELL,), shapes=shapes, given_inputs=given)
    title = model_view(report).as_markdown().splitlines()[0]
    assert title.endswith(" · audio 1x512, sr scalar · data: speech (3 samples) · sr=8000 · decode loop: h -> h0")


def test_data_sets_are_named_with_their_number():
    report = ModelReport("mlp", DataSets("data", 2), complete=True, cells=(CELL,))
    assert model_view(report).as_markdown().startswith("mlp: outputs compared with data (2 data sets)\n")


def test_the_exit_code_of_a_model_is_that_of_its_worst_cell():
    def code(*states: Any, complete: bool = True) -> int:
        cells = tuple(replace(CELL, state=state) for state in states)
        return int(ModelReport("mlp", None, complete, cells).exit_code)

    assert code("ok", "not-applicable") == 0
    assert code("ok", "failed") == 3
    assert code("failed", "mismatch") == 1
    assert code("mismatch", complete=False) == 130


def test_between_versions_only_what_changed_is_told():
    changes = (
        OperatorChange("Attention", "unsupported", "passed", ("test_attention_1", "test_attention_2"), "no kernel"),
        OperatorChange("Gelu", "passed", "passed", ("test_gelu",), ""),
        OperatorChange("Erf", "wrong", "wrong", ("test_erf",), "off by 0.1"),
    )
    lines = (
        suite_view(replace(REPORT, between=("ort 1.22.0", "ort 1.23.2"), changes=changes)).as_markdown().splitlines()
    )
    assert "| operator | cases | ort 1.22.0 | ort 1.23.2 | most frequent reason |" in lines
    assert "| Attention | 2 | unsupported | passed | no kernel |" in lines
    assert lines[-3:] == ["Other values, within the tolerance: Gelu.", "", "Wrong in both, with other values: Erf."]
    assert not any("Relu" in line for line in lines)


def test_versions_without_a_difference_are_said_to_have_none():
    lines = suite_view(replace(REPORT, between=("ort 1.22.0", "ort 1.23.2"))).as_markdown().splitlines()
    assert lines[-1] == "No case has another outcome in ort 1.23.2 than in ort 1.22.0."


def test_a_command_that_ends_a_paragraph_is_on_one_line_of_a_narrow_terminal() -> None:
    command = "irbench show 01M84CWPZM124T9RBK1ADSQM85 --results '/a folder/of results'"
    console = Console(width=40, force_terminal=True, color_system=None, legacy_windows=False)
    with console.capture() as captured:
        console.print(Document((f"Every comparison is a stored run: {command}",)), crop=False)
    assert captured.get().splitlines() == ["Every comparison is a stored run:", command]
