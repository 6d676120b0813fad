"""Which method of quantisation a run uses where none was named."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from irbench.core import registry
from irbench.core.address import BackendAddress
from irbench.notices import Note
from irbench.notices.notes import Int8StaticChosen
from irbench.requests.int8_methods import with_suitable_int8
from irbench.spi import Description

BACKENDS = {
    "any": SimpleNamespace(consumes=("onnx",), methods=("static", "dynamic")),
    "static-only": SimpleNamespace(consumes=("onnx",), methods=("static",)),
    "framework": SimpleNamespace(consumes=("tf-graph",), methods=("static",)),
}


@pytest.fixture(autouse=True)
def backends(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry, "backend", BACKENDS.__getitem__)
    monkeypatch.setattr(
        registry,
        "describe",
        lambda _group, name: Description(name, name, "1", int8_methods=BACKENDS[name].methods),
    )


def chosen(variants: tuple[str, ...], *names: str) -> tuple[tuple[str, ...], tuple[Note, ...]]:
    return with_suitable_int8(variants, [BackendAddress(name, "cpu") for name in names])


def test_a_backend_that_computes_static_int8_only_decides_and_is_named():
    found, notes = chosen(("none", "basic-int8"), "any", "static-only")
    assert found == ("none", "basic-int8-static")
    facts = {"backend": "static-only", "asked": "basic-int8", "chosen": "basic-int8-static"}
    assert notes == (Int8StaticChosen(**facts),)


@pytest.mark.parametrize("names", [("any",), ("any", "framework")])
def test_without_such_a_backend_the_model_decides(names: tuple[str, ...]):
    assert chosen(("none", "basic-int8"), *names) == (("none", "basic-int8"), ())


@pytest.mark.parametrize("named", ["basic-int8-dynamic", "basic-int8-static", "basic-fp16", "basic", "none"])
def test_what_was_named_stays(named: str):
    assert chosen((named,), "static-only") == ((named,), ())


def test_a_static_variant_that_was_asked_for_as_well_is_one_row():
    assert chosen(("none-int8", "none-int8-static"), "static-only")[0] == ("none-int8-static",)


def test_the_installed_runtimes_say_what_they_compute(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.undo()
    assert "dynamic" in registry.describe(registry.BACKENDS, "ort").int8_methods
    assert registry.describe(registry.BACKENDS, "openvino").int8_methods == ("static",)
