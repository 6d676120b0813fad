"""A model that is named by what it was exported from is its bundle, with the options of that export."""

from __future__ import annotations

from pathlib import Path

import pytest
from fresh_projects import exported, make_project, ran, write

from irbench.errors import IrbenchError
from irbench.exporter.build import ExportWorker
from irbench.requests.resolve import require_model, resolve_bundles
from irbench.spec import Bundle
from irbench.store import bundles

pytestmark = pytest.mark.ci


@pytest.fixture(autouse=True)
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    return make_project(tmp_path, monkeypatch)


def resolved(model: str) -> tuple[Bundle, str]:
    said: list[str] = []
    (bundle,) = resolve_bundles((model,), everything=False, say=said.append)
    return bundle, "\n".join(said)


@pytest.mark.parametrize("source", ["single.py:fake_single", "saved", "plain.fakenet", "fake_scaled"])
def test_a_source_means_the_bundle_that_was_made_from_it_with_its_options(source: str):
    made, _ = exported(source, seed=5, shape={"batch": (3,)})
    bundle, said = resolved(source)
    assert bundle == made.bundle
    assert bundle.seed == 5
    assert said.startswith(f"using {made.name}, exported just now")
    assert "with --seed 5 --shape batch=3" in said
    assert bundles.find(made.name) == made.folder, "its name means what it did"


def test_a_source_that_was_edited_is_exported_again_with_the_options_of_its_bundle(project: Path):
    exported("single.py:fake_single", seed=5)
    write(project / "helper.py", "SCALE = 3\n")
    bundle, said = resolved("single.py:fake_single")
    assert (bundle.details["scale"], bundle.seed) == (3, 5)
    assert said.startswith("helper.py changed since fake_single was exported just now")
    assert said.splitlines()[0].endswith("exporting again with --seed 5")


def test_other_ways_of_naming_a_source_mean_its_bundle_too(project: Path, monkeypatch: pytest.MonkeyPatch):
    made, _ = exported("other/single.py:fake_single", seed=5)
    monkeypatch.chdir(project / "other")
    assert [resolved(name)[0] for name in ("single.py:fake_single", "single:fake_single")] == [made.bundle] * 2


def test_of_several_bundles_of_a_source_the_one_that_was_exported_last_is_used_and_named():
    first, _ = exported("single.py:fake_single", seed=1, name="first")
    second, _ = exported("single.py:fake_single", seed=2, name="second")
    bundle, said = resolved("single.py:fake_single")
    assert bundle == second.bundle
    assert said.splitlines()[0] == (
        "single.py:fake_single was exported as second and first: second, exported last, is used"
    )
    assert exported("single.py:fake_single", seed=1, name="first")[0].folder == first.folder
    assert resolved("single.py:fake_single")[0] == first.bundle, "it was asked for last"


def test_a_source_that_is_gone_is_refused_whatever_was_made_from_it(project: Path):
    exported("single.py:fake_single", seed=5)
    (project / "single.py").unlink()
    for use in (require_model, resolved):
        with pytest.raises(IrbenchError, match=r"There is no file single\.py"):
            use("single.py:fake_single")


def test_the_name_of_a_zoo_model_is_not_that_of_a_bundle_that_was_given_another():
    exported("fake_scaled", seed=5, name="mine")
    assert [resolved("fake_scaled")[0].seed, resolved("mine")[0].seed] == [0, 5]


def test_modules_that_an_export_imported_are_imported_where_it_is_made_again(project: Path):
    write(project / "layers.py", "")
    exported("single.py:fake_single", imports=("layers",))
    write(project / "helper.py", "SCALE = 3\n")
    scale, said = ran("single.py:fake_single")
    assert scale == 3
    assert said.splitlines()[0].endswith("exporting again with --import layers")


@pytest.mark.parametrize("force", [False, True])
def test_of_two_exports_of_a_model_at_once_none_removes_what_the_other_made(
    force: bool, monkeypatch: pytest.MonkeyPatch
):
    before = exported("plain.fakenet")[0].folder if force else None
    accept, meanwhile = ExportWorker.accept, list[Path]()

    def export_again(*given: object) -> object:
        monkeypatch.setattr(ExportWorker, "accept", accept)
        meanwhile.append(exported("plain.fakenet", force=force)[0].folder)
        return accept(*given)  # type: ignore[arg-type]

    monkeypatch.setattr(ExportWorker, "accept", export_again)
    made = exported("plain.fakenet", force=force)[0].folder
    assert [bundles.load_intact(folder).name for folder in (made, *meanwhile)] == ["plain", "plain"]
    assert bundles.find("plain") == made
    assert before is None or not before.exists()
    assert exported("plain.fakenet")[0].folder in (made, *meanwhile)
