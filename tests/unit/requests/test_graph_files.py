"""From what the user typed to a graph that was made from another."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path

import models
import pytest

from irbench.core.graph_record import GraphStep
from irbench.errors import IrbenchError
from irbench.exporter.source import Source
from irbench.optimizer import Conversion, Lineage, build_recipe
from irbench.requests.graph_files import find_graph
from irbench.spec import Bundle
from irbench.store import bundles
from irbench.store.card import CARD, Card, Origin
from irbench.system.file_states import digest


def bound(name: str, sizes: dict[str, int]) -> tuple[Path, Lineage]:
    steps = (GraphStep("original", False),)
    return Path(name), Lineage("key", "source", "model", build_recipe("basic"), sizes, steps, {}, "2026-11-21")


FREE = bound("free.onnx", {})
ONE = bound("one.onnx", {"batch": 1})
ONE_LONG = bound("one_long.onnx", {"batch": 1, "sequence": 128})
TWO_LONG = bound("two_long.onnx", {"batch": 2, "sequence": 128})
ONE_SHORT = bound("one_short.onnx", {"batch": 1, "sequence": 8})


@pytest.fixture
def model(tmp_path: Path) -> Path:
    return models.mlp(tmp_path).path


@pytest.mark.parametrize(
    ("kept", "sizes", "meant", "name"),
    [
        ((FREE, ONE), "", FREE, "mlp+basic"),
        ((ONE_LONG,), "", ONE_LONG, "mlp+basic:batch=1,sequence=128"),
        ((FREE, ONE_LONG), ":batch=1", ONE_LONG, "mlp+basic:batch=1,sequence=128"),
        ((ONE_LONG, TWO_LONG), ":sequence=128,batch=2", TWO_LONG, "mlp+basic:batch=2,sequence=128"),
        ((ONE_LONG, ONE), ":batch=1", ONE, "mlp+basic:batch=1"),
        ((ONE_LONG, FREE), ":free", FREE, "mlp+basic"),
    ],
)
def test_a_graph_is_named_by_nothing_or_by_as_many_sizes_as_tell_it_from_others(
    model: Path,
    monkeypatch: pytest.MonkeyPatch,
    kept: tuple[tuple[Path, Lineage], ...],
    sizes: str,
    meant: tuple[Path, Lineage],
    name: str,
) -> None:
    monkeypatch.setattr("irbench.optimizer.kept_for", lambda _: kept)
    found = find_graph(f"{model}+basic{sizes}")
    assert (found.path, found.name) == (meant[0], name)


@pytest.mark.parametrize(
    ("kept", "sizes", "said", "offered"),
    [
        ((ONE, TWO_LONG), "", "+basic means 2 graphs", "Name one: {}:batch=1, {}:batch=2,sequence=128"),
        (
            (ONE_LONG, ONE_SHORT, FREE),
            ":batch=1",
            "+basic:batch=1 means 2 graphs",
            "Name one: {}:batch=1,sequence=128, {}:batch=1,sequence=8",
        ),
        ((FREE, TWO_LONG), ":batch=1", "+basic was not made for batch=1", "There is: {}:free, {}:batch=2,sequence=128"),
        ((ONE, TWO_LONG), ":free", "+basic was not made for free", "There is: {}:batch=1, {}:batch=2,sequence=128"),
    ],
)
def test_sizes_of_several_graphs_or_of_none_are_refused_and_graphs_offered(
    model: Path,
    monkeypatch: pytest.MonkeyPatch,
    kept: tuple[tuple[Path, Lineage], ...],
    sizes: str,
    said: str,
    offered: str,
) -> None:
    monkeypatch.setattr("irbench.optimizer.kept_for", lambda _: kept)
    with pytest.raises(IrbenchError) as refused:
        find_graph(f"{model}+basic{sizes}")
    assert said in refused.value.message
    assert refused.value.hint == offered.replace("{}", f"{model}+basic")


def converted(samples: int) -> Lineage:
    asked = build_recipe("basic", conversion=Conversion("int8", samples=samples))
    steps = (GraphStep("original", False), GraphStep("quantize_static", True))
    return Lineage("key", "source", "model", asked, {"batch": 1}, steps, {}, "2026-11-21")


def test_graphs_of_one_name_and_size_are_named_by_path_with_their_settings(
    model: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept = [(Path("few.onnx"), converted(8)), (Path("many.onnx"), converted(64))]
    monkeypatch.setattr("irbench.optimizer.kept_for", lambda _: kept)
    with pytest.raises(IrbenchError, match="means 2 graphs") as refused:
        find_graph(f"{model}+basic-int8:batch=1")
    few, many = "few.onnx (batch=1, static, 8 inputs)", "many.onnx (batch=1, static, 64 inputs)"
    assert refused.value.hint == f"Name one: {few}, {many}"


def exported(source: str, name: str, created: str = "2026-01-01") -> Path:
    """Put a bundle into the cache that was exported from a source."""
    with bundles.staging() as folder:
        made = models.mlp(folder)
        graph = folder / made.path.name
        bundle = Bundle(name, models.logical_inputs(made), (replace(made, path=Path(graph.name)),), source=source)
        origin = Origin(source, str(Path.cwd()), Source(source).location, "tensorflow", {}, {})
        return bundles.install(folder, Card(bundle, created, created, {graph.name: digest(graph)}, origin))


def test_the_graph_of_a_function_is_found_by_what_it_was_exported_from(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "nets.py").write_text("def build(): ...")
    exported("nets.py:build", "build")
    latest = exported("nets.py:build", "other", created="2026-02-02")
    exported("elsewhere.py:build", "elsewhere", created="2026-03-03")
    for typed in ("nets.py:build", "./nets.py:build", f"{tmp_path}/nets.py:build", "nets:build"):
        assert find_graph(typed).path.parent == latest


def test_a_damaged_bundle_hides_no_other(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    place = exported("nets.py:build", "build")
    (exported("nets.py:build", "damaged") / CARD).write_text("{")
    assert find_graph("nets.py:build").path.parent == place
    shutil.rmtree(place)
    with pytest.raises(IrbenchError, match="has not been exported yet"):
        find_graph("nets.py:build")


def test_a_file_of_python_is_refused_with_the_functions_in_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "nets.py").write_text("def build(): ...")
    with pytest.raises(IrbenchError, match=r"nets\.py alone does not say which function") as refused:
        find_graph("nets.py")
    assert refused.value.hint == "Name it: nets.py:build"


def test_a_keras_file_that_was_not_exported_is_refused_with_the_command_that_does(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "my net.keras").write_bytes(b"")
    with pytest.raises(IrbenchError, match=r"my net.keras has not been exported yet") as refused:
        find_graph("my net.keras")
    assert refused.value.hint == "Export it: irbench export 'my net.keras'"
