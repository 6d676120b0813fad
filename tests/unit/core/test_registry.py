"""Parts are found by entry point, and a broken plugin ends nothing."""

from __future__ import annotations

import importlib
import subprocess
import sys
from collections.abc import Callable, Collection, Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest

from irbench.core import registry
from irbench.errors import ExitCode, IrbenchError
from irbench.spi import Description

Plant = Callable[[str, str, str], None]

PLUGIN = """
from irbench.spi import Description

class Abacus:
    name = "abacus"
    consumes = ("onnx",)
    def describe(self):
        return Description("abacus", "abacus-runtime", None, ("cpu", "wood"), "pip install abacus-runtime")

abacus = Abacus()
"""


@pytest.fixture(autouse=True)
def forgetful() -> Iterator[None]:
    """Forget what was found, before and after, because each test plants plugins of its own."""
    registry.forget()
    yield
    registry.forget()


@pytest.fixture
def plant(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Plant:
    """Put a distribution with one entry point on the path: of models if it ends so, else of a backend."""
    monkeypatch.syspath_prepend(str(tmp_path))

    def install(distribution: str, point: str, source: str) -> None:
        module = point.partition("=")[2].partition(":")[0].strip()
        (tmp_path / f"{module}.py").write_text(source)
        information = tmp_path / f"{distribution.replace('-', '_')}-1.0.dist-info"
        information.mkdir()
        (information / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {distribution}\nVersion: 1.0\n")
        group = registry.MODELS if point.endswith(":models") else registry.BACKENDS
        (information / "entry_points.txt").write_text(f"[{group}]\n{point}\n")
        importlib.invalidate_caches()

    return install


def test_our_own_backends_are_registered():
    assert set(registry.names(registry.BACKENDS)) >= {"ort", "openvino", "tf", "tf-xla"}
    assert set(registry.names(registry.REFERENCES)) >= {"ort", "onnx"}


def test_a_plugin_is_found_by_its_entry_point(plant: Plant):
    plant("irbench-abacus", "abacus = planted_abacus:abacus", PLUGIN)
    assert "abacus" in registry.names(registry.BACKENDS)
    assert registry.backend("abacus").name == "abacus"
    assert registry.parse_backend("abacus:wood") == ("abacus", "wood")


def test_a_broken_plugin_is_a_warning_that_names_its_distribution_and_the_others_are_loaded(plant: Plant):
    plant("irbench-shaky", "shaky = planted_shaky:backend", "raise RuntimeError('no libquux')")
    plant("irbench-abacus", "abacus = planted_abacus:abacus", PLUGIN)
    with pytest.warns(registry.PluginWarning) as caught:
        loaded = registry.load_all(registry.BACKENDS)
    text = next(str(warning.message) for warning in caught if "irbench-shaky" in str(warning.message))
    assert "no libquux" in text
    assert "abacus" in loaded
    assert "shaky" not in loaded


def test_a_broken_plugin_asked_for_by_name_is_an_error_that_names_its_distribution(plant: Plant):
    plant("irbench-shaky", "shaky = planted_shaky:backend", "import a_module_that_is_not_there")
    with pytest.raises(IrbenchError, match=r"irbench-shaky.*a_module_that_is_not_there") as caught:
        registry.backend("shaky")
    assert caught.value.exit_code is ExitCode.NOT_INSTALLED
    assert "irbench-shaky" in caught.value.hint


def test_a_description_with_tunable_options_of_no_device_is_an_error_that_shows_the_form(plant: Plant):
    flat = PLUGIN.replace('"pip install abacus-runtime"', 'tunable={"beads": ("1", "2")}')
    plant("irbench-abacus", "abacus = planted_flat_abacus:abacus", flat)
    with pytest.raises(IrbenchError, match=r'options by device: \{"cpu": \{.beads.: '):
        registry.describe(registry.BACKENDS, "abacus")


def test_two_plugins_of_one_name_are_a_warning_that_names_both(plant: Plant):
    plant("irbench-abacus", "abacus = planted_abacus:abacus", PLUGIN)
    plant("irbench-rival", "abacus = planted_rival:abacus", PLUGIN)
    with pytest.warns(registry.PluginWarning, match="(?s)irbench-abacus.*irbench-rival|irbench-rival.*irbench-abacus"):
        registry.names(registry.BACKENDS)


MODELS_OF_A_PLUGIN = """
from irbench.spi import ModelSource

def models():
    for name in ("cake", "pie"):
        yield ModelSource(name, "pastry", "sweet", (), dict, {})
"""


def test_one_entry_point_yields_every_model_of_a_plugin(plant: Plant):
    plant("irbench-bakery", "bakery = planted_bakery:models", MODELS_OF_A_PLUGIN)
    assert {"cake", "pie", "resnet50"} < set(registry.names(registry.MODELS))
    assert registry.model("pie").family == "pastry"
    assert registry.entry_point(registry.MODELS, "pie").module == "planted_bakery"
    assert "cake" in registry.load_all(registry.MODELS)


@pytest.mark.parametrize("broken", ["raise RuntimeError('no flour')", "def models():\n    yield 'no flour'\n"])
def test_models_that_cannot_be_yielded_are_a_warning_and_the_others_are_found(plant: Plant, broken: str):
    plant("irbench-bakery", "bakery = planted_empty_bakery:models", broken)
    with pytest.warns(registry.PluginWarning, match="irbench-bakery"):
        assert "resnet50" in registry.names(registry.MODELS)


def test_two_models_of_one_name_are_a_warning_that_names_both_distributions(plant: Plant):
    plant("irbench-rival", "rival = planted_rival_zoo:models", MODELS_OF_A_PLUGIN.replace("pie", "resnet50"))
    with pytest.warns(registry.PluginWarning, match="(?s)irbench-rival"):
        assert "cake" in registry.names(registry.MODELS)


def test_a_wrong_name_is_answered_with_the_nearest_one_and_the_list():
    with pytest.raises(IrbenchError, match="no backend 'openvin'") as caught:
        registry.backend("openvin")
    assert caught.value.exit_code is ExitCode.USAGE
    assert "Did you mean openvino?" in caught.value.hint
    assert "ort" in caught.value.hint


def test_a_backend_without_a_device_means_the_cpu():
    assert registry.parse_backend("openvino") == ("openvino", "cpu")
    assert registry.parse_backend("openvino:gpu") == ("openvino", "gpu")


@pytest.mark.parametrize("text", ["ort:cdua", "ort:", "ort:tpu"])
def test_an_unknown_device_is_refused_with_those_there_are(text: str):
    with pytest.raises(IrbenchError, match="has no device") as caught:
        registry.parse_backend(text)
    assert "ort:cuda" in caught.value.hint
    assert caught.value.exit_code is ExitCode.USAGE


def declaring(declared: str) -> str:
    return PLUGIN.replace('abacus-runtime")', f'abacus-runtime", {declared})')


def test_a_key_that_a_backend_does_not_declare_is_refused_with_the_nearest_one(plant: Plant):
    plant("irbench-abacus", "abacus = planted_keys:abacus", declaring("options=('beads', 'RODS')"))
    registry.require_options("abacus", ["beads", "RODS"])
    with pytest.raises(IrbenchError, match="abacus has no option 'rod'") as caught:
        registry.require_options("abacus", ["beads", "rod"])
    assert caught.value.hint == "Did you mean RODS? Known: beads, RODS."
    assert caught.value.exit_code is ExitCode.USAGE


def test_a_key_that_irbench_sets_itself_is_refused_with_the_argument_that_it_follows(plant: Plant):
    plant("irbench-abacus", "abacus = planted_reserving:abacus", declaring("reserved={'hands': '--threads'}"))
    with pytest.raises(IrbenchError, match=r"abacus\.hands is set by irbench itself") as caught:
        registry.require_options("abacus", ["hands"])
    assert caught.value.hint == "Use --threads."


def test_a_backend_that_declares_no_keys_takes_any(plant: Plant):
    plant("irbench-abacus", "abacus = planted_abacus:abacus", PLUGIN)
    assert registry.backend("abacus").describe().options is None
    registry.require_options("abacus", ["whatever"])


def test_a_runtime_that_is_missing_is_told_with_the_command_that_installs_it(plant: Plant):
    plant("irbench-abacus", "abacus = planted_abacus:abacus", PLUGIN)
    with pytest.raises(IrbenchError, match="abacus-runtime") as caught:
        registry.require_installed("abacus")
    assert caught.value.exit_code is ExitCode.NOT_INSTALLED
    assert caught.value.hint == "Install it with: pip install abacus-runtime"


def test_references_that_are_installed_come_quickest_first(monkeypatch: pytest.MonkeyPatch):
    described = {
        "abacus": Description("", "", "1"),
        "absent": Description("", "", None, reference_rank=0),
        "sluggish": Description("", "", "1.19", reference_rank=50),
        "swift": Description("", "", "1.22", reference_rank=1),
    }
    found = {name: SimpleNamespace(describe=lambda it=it: it) for name, it in described.items()}
    monkeypatch.setattr(registry, "load_all", lambda group: found if group == registry.REFERENCES else {})
    assert registry.references_in_order() == ("swift", "sluggish", "abacus")


def test_the_distributions_of_a_plugin_are_among_those_that_results_name(plant: Plant):
    plant("irbench-abacus", "abacus = planted_abacus:abacus", PLUGIN)
    assert set(registry.distributions()) >= {"abacus-runtime", "numpy", "onnx", "tensorflow", "tf2onnx", "openvino"}


def test_a_broken_plugin_has_no_distributions(plant: Plant):
    plant("irbench-shaky", "shaky = planted_shaky:backend", "raise RuntimeError('no libquux')")
    with pytest.warns(registry.PluginWarning, match="irbench-shaky"):
        assert "numpy" in registry.distributions()


UNDESCRIBABLE = {
    "it raises": "class Backend:\n    def describe(self): raise RuntimeError('no libquux')\nbackend = Backend()",
    "it has none": "class Backend: pass\nbackend = Backend()",
    "it returns something else": "class Backend:\n    def describe(self): return {}\nbackend = Backend()",
}


@pytest.mark.parametrize("source", UNDESCRIBABLE.values(), ids=UNDESCRIBABLE)
@pytest.mark.parametrize(
    "look", [registry.distributions, registry.installed_backends, lambda: registry.describe_all(registry.BACKENDS)]
)
def test_a_plugin_that_cannot_describe_itself_is_a_warning_and_the_others_are_described(
    plant: Plant, source: str, look: Callable[[], Collection[str]]
):
    plant("irbench-shaky", "shaky = planted_mute:backend", source)
    sys.modules.pop("planted_mute", None)
    with pytest.warns(registry.PluginWarning, match=r"'shaky' of irbench-shaky cannot be described") as caught:
        found = look()
    assert len(caught) == 1
    assert {"ort", "onnxruntime"} & set(found)
    assert "shaky" not in found


@pytest.mark.parametrize("source", UNDESCRIBABLE.values(), ids=UNDESCRIBABLE)
def test_a_plugin_that_cannot_describe_itself_and_is_asked_for_by_name_is_an_error(plant: Plant, source: str):
    plant("irbench-shaky", "shaky = planted_mute:backend", source)
    sys.modules.pop("planted_mute", None)
    for look in (registry.parse_backend, registry.require_installed):
        with pytest.raises(IrbenchError, match="'shaky' of irbench-shaky cannot be described") as caught:
            look("shaky")
        assert caught.value.exit_code is ExitCode.NOT_INSTALLED


@pytest.mark.parametrize("source", UNDESCRIBABLE.values(), ids=UNDESCRIBABLE)
def test_a_plugin_that_cannot_describe_itself_leaves_a_wrong_name_its_hint(plant: Plant, source: str):
    plant("irbench-shaky", "shaky = planted_mute:backend", source)
    sys.modules.pop("planted_mute", None)
    with pytest.raises(IrbenchError, match="no backend 'openvin'") as caught:
        registry.backend("openvin")
    assert "Did you mean openvino?" in caught.value.hint


def test_listing_names_loads_nothing():
    code = (
        "import sys; from irbench.core import registry; registry.names(registry.BACKENDS);"
        "print([one for one in sys.modules if one.startswith(('irbench_', 'onnx', 'openvino', 'tensorflow'))])"
    )
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "[]\n"


def test_a_backend_may_be_meant_by_its_distribution() -> None:
    assert registry.known_names(registry.BACKENDS, "onnxruntime").startswith("Did you mean ort?")
