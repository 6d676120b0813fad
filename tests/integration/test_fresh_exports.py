"""A bundle is used only while what it was made from is unchanged, however the model is named."""

from __future__ import annotations

import importlib
import json
import os
import shutil
import sys
from pathlib import Path

import fake_exporter
import pytest
from front_door import irbench

from irbench import bundles
from irbench.api.export import ExportedModel, ExportListener, export_with
from irbench.api.resolve import resolve_bundles
from irbench.errors import IrbenchError
from irbench.exporter import ExportOptions
from irbench.exporter.build import _ExportWorker
from irbench.record import OutputError
from irbench.worker import call_in_worker

FUNCTIONS = """
from pathlib import Path
from . import SCALE

def fake_net():
    return SCALE

def fake_late():
    from nets import late
    return late.SCALE

def fake_of_data():
    return Path("data/scale.txt").read_text()

def fake_optional():
    try:
        from nets import fast
        return fast.SCALE
    except ImportError:
        pass
    try:
        return Path("optional.txt").read_text()
    except FileNotFoundError:
        return SCALE

def fake_newest():
    return sorted(Path("data").glob("*.txt"))[-1].read_text()
"""
EDITS_ITSELF = """
SCALE = 2

def fake_edited():
    with open(__file__, "a") as file:
        file.write("#")
    return SCALE
"""
ZOO_MODEL = """
from irbench.spec import BATCH, InputSpec, TensorSpec
from irbench.spi import ModelSource

def build():
    from fake_plugin.scales import SCALE
    return SCALE

scaled = ModelSource("fake_scaled", "fake", "a number", (), build, {})
"""


def call_here(target: str, *args: object, say: object, **_: object) -> object:
    """Do what a worker does within this process, which spares its start, and forget the modules that it imported."""
    module, _, function = target.partition(":")
    folder, path, modules = Path.cwd(), [*sys.path], {*sys.modules}
    importlib.invalidate_caches()
    try:
        return getattr(importlib.import_module(module), function)(*args, say)
    finally:
        os.chdir(folder)
        sys.path[:] = path
        for name in {*sys.modules} - modules:
            if name.partition(".")[0] in USERS:
                del sys.modules[name]


USERS = {"nets", "single", "helper", "edited", "hidden", "deep", "layers", "fake_plugin", "fake_scales"}


@pytest.fixture
def workers(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Have exports made in workers after all."""
    monkeypatch.setattr("irbench.exporter.build.call_in_worker", call_in_worker)


@pytest.fixture(autouse=True)
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a model of each kind, which is the current one; every model is 2."""
    project = tmp_path / "project"
    for name, text in {
        "nets/__init__.py": "from nets.scales import SCALE\n",
        "nets/scales.py": "SCALE = 2\n",
        "nets/late.py": "SCALE = 2\n",
        "nets/net.py": FUNCTIONS,
        "single.py": "import helper\n\ndef fake_single():\n    return helper.SCALE\n",
        "helper.py": "SCALE = 2\n",
        "other/single.py": "def fake_single():\n    return 2\n",
        "data/scale.txt": "2",
        "saved/fake.net": "1",
        "saved/variables/weights": "1",
        "plain.fakenet": "2",
    }.items():
        write(project / name, text)
    plugin = tmp_path / "plugin"
    write(plugin / "fake_plugin/__init__.py", ZOO_MODEL)
    write(plugin / "fake_plugin/scales.py", "SCALE = 2\n")
    # outputs are checked elsewhere, and the check takes longer than the export
    monkeypatch.setattr(_ExportWorker, "accept", lambda *_: OutputError(0.0, 0.0, 1.0, None))
    monkeypatch.setattr("irbench.exporter.build.call_in_worker", call_here)
    monkeypatch.setattr(sys, "dont_write_bytecode", True)  # Python does not see that a second later it is another file
    monkeypatch.setenv("PYTHONDONTWRITEBYTECODE", "1")
    fake_exporter.register(plugin, monkeypatch, "fake_scaled = fake_plugin:scaled")
    monkeypatch.chdir(project)
    return project


def write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def ran(*models: str, imports: tuple[str, ...] = ()) -> tuple[float, str]:
    """Return the number that a run of the last of the models would multiply with, and what was said."""
    said: list[str] = []
    found = resolve_bundles(models, everything=False, say=said.append, imports=imports)
    return float(str(found[-1].details["scale"])), "\n".join(said)


def exported(model: str, **options: object) -> tuple[ExportedModel, str]:
    said: list[str] = []
    listener = ExportListener(lambda _: None, said.append)
    made = export_with(model, ExportOptions(**options), listener)  # type: ignore[arg-type]
    return made, "\n".join(said)


FAST = [
    ("nets.net:fake_net", "nets/scales.py", "SCALE = 3\n"),
    ("saved", "saved/variables/more", "1"),
    ("fake_scaled", "../plugin/fake_plugin/scales.py", "SCALE = 3\n"),
]
SLOW = [
    ("nets.net:fake_net", "nets/net.py", "def fake_net():\n    return 3\n"),
    ("nets.net:fake_net", "nets/__init__.py", "SCALE = 3\n"),
    ("nets.net:fake_late", "nets/late.py", "SCALE = 3\n"),
    ("nets.net:fake_of_data", "data/scale.txt", "3"),
    ("nets.net:fake_newest", "data/very_new.txt", "3"),
    ("single.py:fake_single", "helper.py", "SCALE = 3\n"),
    ("single:fake_single", "helper.py", "SCALE = 3\n"),
    ("saved", "saved/fake.net", "2"),
    ("saved", "saved/variables/weights", "2"),
    ("./saved", "saved/variables/weights", "2"),
    ("saved/", "saved/variables/weights", "2"),
    ("plain.fakenet", "plain.fakenet", "3"),
]
WAYS = [*FAST, *(pytest.param(*way, marks=pytest.mark.slow) for way in SLOW)]


@pytest.mark.usefixtures("workers")
@pytest.mark.parametrize(("model", "file", "text"), WAYS, ids=lambda value: value if "\n" not in value else "")
def test_an_edit_is_exported_again_by_a_run_and_by_an_export(model: str, file: str, text: str, project: Path):
    assert ran(model)[0] == 2
    write(project / file, text)
    scale, said = ran(model)
    assert scale == 3
    assert f"changed since {bundles.latest().parent.name} was exported" in said  # type: ignore[union-attr]
    assert "exporting again" in said
    again, said = exported(model)
    assert again.seconds is None
    assert said.startswith(f"using {again.name}, exported just now")


def test_what_is_unchanged_is_used_and_a_version_that_is_back_as_well(project: Path):
    first, _ = exported("nets.net:fake_net")
    write(project / "nets/unrelated.py", "SCALE = 3\n")
    assert exported("nets.net:fake_net")[0].seconds is None
    write(project / "nets/scales.py", "SCALE = 3\n")
    second, _ = exported("nets.net:fake_net")
    write(project / "nets/scales.py", "SCALE = 2\n")
    back, _said = exported("nets.net:fake_net")
    assert (back.folder, back.seconds) == (first.folder, None)
    assert back.folder != second.folder
    assert bundles.find("fake_net") == first.folder


def test_a_bundle_is_made_again_under_its_name_from_any_folder_with_its_options(
    project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    exported("nets.net:fake_net", seed=5, name="mine")
    write(project / "nets/scales.py", "SCALE = 3\n")
    monkeypatch.chdir(tmp_path)
    scale, said = ran("mine")
    assert scale == 3
    assert "project/nets/scales.py changed since mine was exported just now" in said
    (bundle,) = resolve_bundles(("mine",), everything=False, say=lambda _: None)
    assert bundle.seed == 5
    assert [said.splitlines()[0] for _, said in (ran(), ran("mine"))] == [
        f"using mine, exported just now ({minute()} UTC) from project/nets/net.py:fake_net"
    ] * 2


def minute() -> str:
    latest = bundles.latest()
    assert latest is not None
    return bundles.load_card(latest).created[:16].replace("T", " ")


def test_a_bundle_whose_source_is_gone_is_used_with_a_warning(project: Path):
    exported("plain.fakenet")
    (project / "plain.fakenet").unlink()
    scale, said = ran("plain")
    assert scale == 2
    assert said.startswith("warning: plain was exported just now")
    assert "cannot be found any more" in said


def test_a_run_of_a_source_that_no_longer_works_is_refused(project: Path):
    exported("nets.net:fake_net")
    write(project / "nets/net.py", "def fake_net():\n    raise ValueError('half written')\n")
    with pytest.raises(ValueError, match="half written"):
        ran("fake_net")


def test_bundles_are_made_again_where_the_tools_have_changed(monkeypatch: pytest.MonkeyPatch):
    exported("fake_scaled")
    before = bundles.find("fake_scaled")
    versions = {"irbench": "99.0"}
    monkeypatch.setattr("irbench.exporter.identity._version", lambda name: versions.get(name, "1.0"))
    said = ran("fake_scaled")[1]
    assert "with other tools" in said
    assert "exporting again" in said
    assert bundles.find("fake_scaled") != before


def test_a_bundle_is_used_where_only_tools_have_changed_and_one_is_missing(monkeypatch: pytest.MonkeyPatch):
    place = exported("fake_scaled")[0].folder
    monkeypatch.setattr("irbench.exporter.identity._version", lambda name: None if name == "numpy" else "1.0")
    scale, said = ran("fake_scaled")
    assert scale == 2
    assert "without numpy it cannot be exported again" in said
    assert bundles.find("fake_scaled") == place


def test_a_bundle_from_another_machine_is_used_where_no_exporter_is_installed(
    project: Path, monkeypatch: pytest.MonkeyPatch
):
    place = exported("fake_scaled")[0].folder
    scales = project / "../plugin/fake_plugin/scales.py"
    monkeypatch.setattr("irbench.exporter.identity._version", lambda name: None if name == "numpy" else "1.0")
    write(scales, "SCALE = 3\n")
    assert ran("fake_scaled")[0] == 3, "what is here is exported all the same"
    card = json.loads((place / "card.json").read_text())
    card["origin"]["files"] = {"/elsewhere/scales.py": next(iter(card["origin"]["files"].values()))}
    bundles.point_to(place)
    (place / "card.json").write_text(json.dumps(card))
    assert ran("fake_scaled")[0] == 2


@pytest.mark.parametrize(("stem", "name"), [("net+int8", "net_int8"), ("a b", "a b"), ("..net", "net")])
def test_a_name_that_would_mean_something_else_is_changed(stem: str, name: str):
    write(Path(f"{stem}.fakenet"), "2")
    assert exported(f"{stem}.fakenet")[0].name == name
    assert ran(name)[0] == 2


def test_a_module_that_hides_another_is_noticed(project: Path):
    write(project / "lib/deep.py", "SCALE = 2\n")
    text = "import sys\nsys.path.append('lib')\nimport deep\n\ndef fake_hidden():\n    return deep.SCALE\n"
    write(project / "hidden.py", text)
    assert ran("hidden:fake_hidden")[0] == 2
    write(project / "deep.py", "SCALE = 3\n")
    assert ran("hidden:fake_hidden")[0] == 3


def test_a_file_that_changes_while_it_is_exported_is_exported_again(project: Path):
    write(project / "edited.py", EDITS_ITSELF)
    exported("edited:fake_edited")
    assert exported("edited:fake_edited")[0].seconds is not None


def test_what_was_missing_and_appears_is_a_change(project: Path):
    exported("nets.net:fake_optional")
    assert ran("fake_optional")[1].startswith("using fake_optional")
    write(project / "optional.txt", "3")
    assert ran("fake_optional")[0] == 3
    assert ran("fake_optional")[1].startswith("using fake_optional")
    write(project / "nets/fast.py", "SCALE = 4\n")
    assert ran("fake_optional")[0] == 4


def install(site: Path, version: str) -> None:
    """Install the package ``fake_scales``, which is a number, in another version."""
    for metadata in site.glob("fake_scales-*"):
        shutil.rmtree(metadata)
    write(site / "fake_scales.py", f"SCALE = {version}\n")
    folder = site / f"fake_scales-{version}.dist-info"
    write(folder / "METADATA", f"Metadata-Version: 2.1\nName: fake-scales\nVersion: {version}\n")
    write(folder / "top_level.txt", "fake_scales\n")


def test_an_installed_package_of_another_version_is_a_change(project: Path, monkeypatch: pytest.MonkeyPatch):
    site = project.parent / "site-packages"
    install(site, "2.0")
    monkeypatch.syspath_prepend(site)
    write(project / "single.py", "import fake_scales\n\ndef fake_single():\n    return fake_scales.SCALE\n")
    exported("single:fake_single")
    assert ran("fake_single")[1].startswith("using fake_single")
    install(site, "3.0")
    scale, said = ran("fake_single")
    assert scale == 3
    assert "with other tools (fake-scales is 3.0): exporting again" in said


def test_two_functions_of_one_name_are_two_models(project: Path):
    write(project / "other/single.py", "def fake_single():\n    return 5\n")
    first, _ = exported("single.py:fake_single")
    second, said = exported("other/single.py:fake_single")
    assert [first.name, second.name] == ["fake_single", "fake_single-other"]
    assert "the name fake_single belongs to single.py:fake_single" in said
    assert [ran(made.name)[0] for made in (first, second)] == [2, 5]
    assert ran("single.py:fake_single")[0] == 2
    assert exported("other/single.py:fake_single")[0].name == "fake_single-other"
    (project / "single.py").unlink()
    assert exported("other/single.py:fake_single", seed=1)[0].name == "fake_single", "its owner is gone"


def test_no_model_takes_the_name_of_one_of_the_zoo(project: Path):
    write(project / "fake_scaled.fakenet", "5")
    made, said = exported("fake_scaled.fakenet")
    assert made.name == "fake_scaled-project"
    assert "fake_scaled of irbench models" in said
    with pytest.raises(IrbenchError, match="The name fake_scaled belongs to") as caught:
        exported("plain.fakenet", name="fake_scaled")
    assert caught.value.hint == "Choose another with --name."


def test_a_chosen_name_is_kept_and_belongs_to_one_model():
    assert exported("plain.fakenet", name="mine")[0].name == "mine"
    assert ran("mine")[0] == 2
    with pytest.raises(IrbenchError, match=r"The name mine belongs to the model .*plain\.fakenet") as caught:
        exported("saved", name="mine")
    assert f"rm -r {bundles.home()}/bundles/mine" in caught.value.hint
    assert exported("plain.fakenet", name="other")[0].name == "other"


def test_a_damaged_bundle_is_replaced_by_force_and_keeps_no_name(project: Path):
    place = exported("plain.fakenet")[0].folder
    (place / "card.json").write_text("{")
    assert exported("plain.fakenet", force=True)[0].name == "plain"
    assert not place.exists()
    (bundles.find("plain") / "card.json").write_text("{")  # type: ignore[operator]
    assert exported("saved", name="plain")[0].name == "plain"


@pytest.mark.parametrize("name", ["", ".hidden", "a/b", "net+int8", "net:batch=1", "net.onnx", "x" * 101, "-x", "a\nb"])
def test_an_impossible_name_is_refused_before_any_work(name: str):
    with pytest.raises(IrbenchError, match="not a valid name") as caught:
        exported("plain.fakenet", name=name)
    assert caught.value.hint
    assert bundles.latest() is None


def test_a_folder_here_comes_before_a_bundle_of_its_name_from_elsewhere(
    project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    exported("saved")
    shutil.copytree(project / "saved", tmp_path / "saved")
    write(tmp_path / "saved/fake.net", "6")
    monkeypatch.chdir(tmp_path)
    scale, said = ran("saved")
    assert scale == 7
    assert f"{tmp_path}/saved is used; the bundle saved was exported from {project}/saved" in said
    assert ran("saved-" + tmp_path.name)[0] == 7


def test_a_bundle_in_a_folder_of_the_users_is_not_replaced_but_told(project: Path):
    exported("plain.fakenet", output=Path("out"))
    assert ran("out") == (2, "")
    write(project / "plain.fakenet", "3")
    scale, said = ran("out")
    assert scale == 2
    assert said.startswith("warning: plain.fakenet changed since out was exported")
    assert said.endswith("irbench export plain.fakenet -o out")


def test_a_version_that_is_named_by_its_folder_is_used_and_told(project: Path):
    place = exported("plain.fakenet")[0].folder
    assert ran(str(place)) == (2, "")
    write(project / "plain.fakenet", "3")
    scale, said = ran(str(place))
    assert scale == 2
    assert said.endswith("irbench export plain.fakenet")


def test_an_outdated_graph_is_shown_and_told(project: Path):
    exported("plain.fakenet")
    assert irbench("inspect", "plain").err == ""
    write(project / "plain.fakenet", "3")
    called = irbench("inspect", "--diff", "plain", "plain")
    assert called.code == 0
    (told,) = called.err.splitlines()
    assert told.startswith("warning: plain.fakenet changed since")
    assert told.endswith("irbench export plain.fakenet")


def forget_origin(place: Path) -> None:
    """Make a card one of an earlier irbench."""
    card = json.loads((place / "card.json").read_text())
    (place / "card.json").write_text(json.dumps({**card, "origin": None, "key": "0" * 64}))


def test_a_folder_here_comes_before_a_bundle_of_unknown_origin(project: Path):
    forget_origin(exported("saved")[0].folder)
    write(project / "saved/fake.net", "4")
    assert ran("saved")[0] == 5


def test_a_bundle_of_an_earlier_irbench_is_made_again_or_told():
    for model in ("fake_scaled", "plain.fakenet"):
        forget_origin(exported(model)[0].folder)
    assert "did not record its source: exporting again" in ran("fake_scaled")[1]
    assert ran("plain")[1].startswith("warning: plain was exported just now")


def test_modules_to_import_belong_to_the_model(project: Path):
    write(project / "layers.py", "import helper\n")
    assert ran("plain.fakenet", imports=("layers",))[1].endswith("storing the bundle")
    assert ran("plain")[1].startswith("using plain")
    write(project / "helper.py", "SCALE = 3\n")
    assert "helper.py changed since" in ran("plain")[1]
    write(project / "deep.py", "")
    assert "with other options (now --import deep): exporting again" in ran("plain", imports=("deep",))[1]
    with pytest.raises(IrbenchError, match="There is no module layerz") as caught:
        ran("plain.fakenet", imports=("layerz",))
    assert "Did you mean layers?" in caught.value.hint


def test_a_file_of_weights_belongs_to_the_model(project: Path):
    write(project / "half.txt", "0.5")
    exported("plain.fakenet", weights="half.txt")
    assert ran("plain")[0] == 1
    write(project / "half.txt", "4")
    assert ran("plain")[0] == 8


def test_no_framework_is_imported_to_see_that_a_bundle_is_fresh(monkeypatch: pytest.MonkeyPatch):
    exported("fake_scaled")
    for framework in ("tensorflow", "keras"):
        monkeypatch.setitem(sys.modules, framework, None)
    assert ran("fake_scaled")[1].startswith("using fake_scaled, exported just now")
