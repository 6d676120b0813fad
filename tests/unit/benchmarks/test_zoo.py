import json
from dataclasses import replace

import pytest
from click.testing import CliRunner
from documents import cell, document, failed, group

from benchmarks import zoo
from benchmarks.workbench import CommandFailed, Finished
from benchmarks.zoo import main, visit
from benchmarks.zoo_table import Tour, as_table
from irbench.core import registry
from irbench.errors import ExitCode
from irbench.store.run_document import encode_document


def toured(name, *cells):
    source = replace(registry.model("resnet50"), name=name, parameters=25_636_712, macs=4_089_000_000)
    return Tour(name, source, (125, 120), group(*cells))


def test_each_model_has_a_row_with_a_latency_for_every_cell():
    table = as_table([toured("a", cell("openvino", 31.0), cell("tf", 92.4)), toured("b", cell("tf", 8.0))])
    headings = [column.heading for column in table.columns]
    assert headings[5:7] == ["tf ms", "openvino ms"]
    assert table.rows[0].cells[:7] == ("a", "25.6", "4.09", "125", "120", "92.4", "31.0")
    assert table.rows[1].cells[5:7] == ("8.00", "-")


def test_a_cell_without_a_number_gives_its_reason():
    table = as_table([toured("a", cell("tf"), failed("ort"))])
    assert failed("ort").failure.message in table.rows[0].cells[-1]


def test_a_model_that_fails_is_a_row_with_its_reason():
    class Bench:
        def irbench(self, *arguments, home, accept=()):
            raise CommandFailed("irbench ended with 3: no memory")

    tour = visit(Bench(), "resnet50", ())
    assert as_table([tour]).rows[0].sentence == "failed: irbench ended with 3: no memory"


def test_what_was_measured_beside_a_row_that_failed_is_kept_and_the_tour_is_not_complete():
    lineage = {"steps": [{"operators": {"Conv": 3}}, {"operators": {"Conv": 2}}]}

    class Bench:
        def irbench(self, command, *arguments, home, accept=()):
            if command == "optimize":
                return Finished(1.0, json.dumps({"optimized": [lineage]}))
            assert set(accept) == {ExitCode.DIFFERENT, ExitCode.FAILED_CELL, ExitCode.UNDECIDED}
            run = document(group(cell("openvino", 31.0), failed("ort")))
            return Finished(1.0, encode_document(run).decode())

    tour = visit(Bench(), "resnet50", ())
    assert not tour.failure
    assert not tour.is_complete
    assert as_table([tour]).rows[0].cells[3:5] == ("3", "2")


@pytest.mark.parametrize(("name", "sizes"), [("resnet50", ()), ("transformer_base", ("--shape", "tokens=1x128"))])
def test_a_model_is_optimised_at_the_shapes_that_it_is_measured_at(name, sizes):
    calls = []

    class Bench:
        def irbench(self, *arguments, home, accept=()):
            calls.append(arguments)
            if len(calls) == 2:
                raise CommandFailed("enough")
            return Finished(1.0, "{}")

    visit(Bench(), name, ())
    for arguments in calls:
        assert arguments[arguments.index("--batch") : arguments.index("--batch") + 2 + len(sizes)] == (
            "--batch",
            1,
            *sizes,
        )


@pytest.fixture
def without_keras_hub(monkeypatch):
    """Have everything but keras-hub installed, and every visit end at once; return what was visited."""
    visited = []

    def note(_bench, name, _asked):
        visited.append(name)
        return Tour(name, failure="enough")

    monkeypatch.setattr(zoo, "missing_distributions", lambda name: registry.model(name).requires)
    monkeypatch.setattr(zoo, "visit", note)
    return visited


def test_models_that_are_built_with_something_missing_are_left_out_and_counted(without_keras_hub):
    called = CliRunner().invoke(main, ["--only", "keras_hub_vit*", "--only", "vit_tiny"])
    assert without_keras_hub == ["vit_tiny"]
    assert "2 of 3 models are left out, because keras-hub is not installed." in called.stderr


def test_where_nothing_is_left_the_call_is_refused(without_keras_hub):
    called = CliRunner().invoke(main, ["--only", "keras_hub_vit*"])
    assert called.exit_code == ExitCode.USAGE
    assert "pip install" in called.stderr
    assert not without_keras_hub
