"""A bundle is used only while what it was made from is unchanged, however the model is named."""

from __future__ import annotations

import json
import os
import shutil
import sys
from pathlib import Path

import pytest
from fresh_projects import EDITS_ITSELF, exported, make_project, ran, write
from front_door import irbench

from irbench.errors import IrbenchError
from irbench.requests.resolve import resolve_bundles
from irbench.store import bundles
from irbench.worker import call_in_worker


@pytest.fixture(autouse=True)
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    return make_project(tmp_path, monkeypatch)


@pytest.fixture
def workers(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Have exports made in workers after all."""
    monkeypatch.setattr("irbench.exporter.build.call_in_worker", call_in_worker)


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
WAYS = [
    *(pytest.param(*way, marks=pytest.mark.ci) for way in FAST),
    *(pytest.param(*way, marks=pytest.mark.slow) for way in SLOW),
]


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


@pytest.mark.ci
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


@pytest.mark.ci
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
    (_, latest), (_, named) = ran(), ran("mine")
    assert latest.startswith("no model was named: taking mine, the model exported last\n")
    assert {said.splitlines()[number] for said, number in ((latest, 1), (named, 0))} == {
        f"using mine, exported just now ({minute()} UTC) from project/nets/net.py:fake_net with --seed 5"
    }


def minute() -> str:
    latest = bundles.latest()
    assert latest is not None
    return bundles.load_card(latest).created[:16].replace("T", " ")


@pytest.mark.ci
def test_a_bundle_whose_source_is_gone_is_used_with_a_warning(project: Path):
    exported("plain.fakenet")
    (project / "plain.fakenet").unlink()
    scale, said = ran("plain")
    assert scale == 2
    assert said.startswith("warning: plain was exported just now")
    assert "cannot be found any more" in said


@pytest.mark.ci
def test_a_run_of_a_source_that_no_longer_works_is_refused(project: Path):
    exported("nets.net:fake_net")
    write(project / "nets/net.py", "def fake_net():\n    raise ValueError('half written')\n")
    with pytest.raises(ValueError, match="half written"):
        ran("fake_net")


@pytest.mark.ci
def test_bundles_are_made_again_where_the_tools_have_changed(monkeypatch: pytest.MonkeyPatch):
    exported("fake_scaled")
    before = bundles.find("fake_scaled")
    monkeypatch.setattr("irbench.exporter.identity.__version__", "99.0")
    said = ran("fake_scaled")[1]
    assert "with other tools" in said
    assert "exporting again" in said
    assert bundles.find("fake_scaled") != before


@pytest.mark.ci
def test_a_bundle_is_used_where_only_tools_have_changed_and_one_is_missing(monkeypatch: pytest.MonkeyPatch):
    place = exported("fake_scaled")[0].folder
    monkeypatch.setattr("irbench.exporter.identity.installed_version", lambda name: None if name == "numpy" else "1.0")
    scale, said = ran("fake_scaled")
    assert scale == 2
    assert "without numpy it cannot be exported again" in said
    assert bundles.find("fake_scaled") == place


@pytest.mark.ci
def test_a_bundle_from_another_machine_is_used_where_no_exporter_is_installed(
    project: Path, monkeypatch: pytest.MonkeyPatch
):
    place = exported("fake_scaled")[0].folder
    scales = project / "../plugin/fake_plugin/scales.py"
    monkeypatch.setattr("irbench.exporter.identity.installed_version", lambda name: None if name == "numpy" else "1.0")
    write(scales, "SCALE = 3\n")
    with pytest.raises(IrbenchError, match="numpy must be installed"):  # what changed here is not used as it was
        ran("fake_scaled")
    card = json.loads((place / "card.json").read_text())
    card["origin"]["files"] = {"/elsewhere/scales.py": next(iter(card["origin"]["files"].values()))}
    bundles.point_to(place)
    (place / "card.json").write_text(json.dumps(card))
    assert ran("fake_scaled")[0] == 2


@pytest.mark.ci
def test_a_module_that_hides_another_is_noticed(project: Path):
    write(project / "lib/deep.py", "SCALE = 2\n")
    text = "import sys\nsys.path.append('lib')\nimport deep\n\ndef fake_hidden():\n    return deep.SCALE\n"
    write(project / "hidden.py", text)
    assert ran("hidden:fake_hidden")[0] == 2
    write(project / "deep.py", "SCALE = 3\n")
    assert ran("hidden:fake_hidden")[0] == 3


@pytest.mark.ci
def test_a_file_that_changes_while_it_is_exported_is_exported_again(project: Path):
    write(project / "edited.py", EDITS_ITSELF)
    exported("edited:fake_edited")
    assert exported("edited:fake_edited")[0].seconds is not None


@pytest.mark.ci
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


@pytest.mark.ci
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


@pytest.mark.ci
def test_a_bundle_in_a_folder_of_the_users_is_not_replaced_but_told(project: Path):
    exported("plain.fakenet", output=Path("out"))
    assert ran("out") == (2, "")
    write(project / "plain.fakenet", "3")
    scale, said = ran("out")
    assert scale == 2
    assert said.startswith("warning: plain.fakenet changed since out was exported")
    assert said.endswith("irbench export plain.fakenet -o out")


@pytest.mark.ci
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


@pytest.mark.ci
def test_a_folder_here_comes_before_a_bundle_of_unknown_origin(project: Path):
    forget_origin(exported("saved")[0].folder)
    write(project / "saved/fake.net", "4")
    assert ran("saved")[0] == 5


@pytest.mark.ci
def test_a_bundle_of_an_earlier_irbench_is_made_again_or_told():
    for model in ("fake_scaled", "plain.fakenet"):
        forget_origin(exported(model)[0].folder)
    assert "did not record its source: exporting again" in ran("fake_scaled")[1]
    assert ran("plain")[1].startswith("warning: plain was exported just now")


@pytest.mark.ci
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


@pytest.mark.ci
def test_a_file_of_weights_belongs_to_the_model(project: Path):
    write(project / "half.txt", "0.5")
    exported("plain.fakenet", weights="half.txt")
    assert ran("plain")[0] == 1
    write(project / "half.txt", "4")
    assert ran("plain")[0] == 8


@pytest.mark.ci
def test_no_framework_is_imported_to_see_that_a_bundle_is_fresh(monkeypatch: pytest.MonkeyPatch):
    exported("fake_scaled")
    for framework in ("tensorflow", "keras"):
        monkeypatch.setitem(sys.modules, framework, None)
    assert ran("fake_scaled")[1].startswith("using fake_scaled, exported just now")


@pytest.mark.ci
def test_code_that_the_card_of_another_user_names_is_not_run(project: Path, monkeypatch: pytest.MonkeyPatch):
    place = exported("nets.net:fake_net")[0].folder
    if os.getuid() == 0:
        os.chown(place / bundles.CARD, 4711, -1)
    else:
        monkeypatch.setattr(os, "getuid", lambda: 4711)
    assert ran("fake_net")[0] == 2
    write(project / "nets/scales.py", f"open({str(project / 'ran')!r}, 'w')\nSCALE = 3\n")
    called = irbench("run", "fake_net", "--backends", "ort", "--dry-run")
    assert called.code == 2, called.out
    assert "belongs to another user" in called.err
    assert "irbench export nets.net:fake_net" in called.err
    assert not (project / "ran").exists()
