"""The same cell in several environments, and what is said of them."""

from __future__ import annotations

from irbench.runner.requested_cells import environment_notes, in_environments
from irbench.spec import Cell, Load, PythonEnvironment

CELL = Cell("ort-cpu-fp32-x1", None, "ort", "cpu", Load())


def environment(key: str, version: str, **others: str) -> PythonEnvironment:
    return PythonEnvironment(
        key, version, f"/{key}/bin/python", "", "runtime", "3.12.4", {"runtime": version, **others}
    )


def test_without_environments_a_cell_stays_as_it_is() -> None:
    assert in_environments(CELL, ()) == (CELL,)
    assert CELL.python is None


def test_each_environment_has_a_cell_of_its_own_id_and_label() -> None:
    first, second = in_environments(CELL, [environment("a", "1.0"), environment("b", "2.0")])
    assert (first.id, second.id) == ("ort-cpu-fp32-x1-a", "ort-cpu-fp32-x1-b")
    assert (first.label, second.label) == ("ort 1.0", "ort 2.0")
    assert second.python == "/b/bin/python"


def test_a_note_names_the_packages_in_which_environments_differ_besides_the_runtime() -> None:
    same, other = (
        list(environment_notes([environment("a", "1.0", numpy="2.1", onnx="1.2"), second]))
        for second in (environment("b", "2.0", numpy="2.1", onnx="1.2"), environment("b", "2.0", numpy="2.1"))
    )
    assert [note.others for note in same] == [{}, {}]
    assert [note.others for note in other] == [{"onnx": "1.2"}, {"onnx": None}]
