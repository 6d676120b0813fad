"""The tour and the guides are followed, block after block, in a folder with small models."""

from __future__ import annotations

import io
import re
import shutil
from pathlib import Path
from typing import Any

import models
import numpy as np
import onnx
import pytest
import yaml
from followed_documents import Reader, blocks, understand
from rich.console import Console

from irbench.runs.run_view import DocumentView
from irbench.store.run_document import decode_document

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
FOLLOWED = [DOCS / "tour.md", *sorted((DOCS / "guides").glob("*.md"))]
WORKFLOW = DOCS / "examples" / "irbench-ci.yml"
NAMES_OF_NEEDS = {"network", "gpu", "docker", "torch", "torchvision", "sklearn", "skl2onnx"}

pytestmark = pytest.mark.ci


def classifier(folder: Path, name: str, input_name: str = "pixels") -> None:
    """Write a small model in the place of one that a document makes or expects."""
    path = models.mlp(folder, name=name).path
    if input_name != "pixels":
        model = onnx.load(path)
        model.graph.input[0].name = model.graph.node[0].input[0] = input_name
        onnx.save(model, path)


def digits(folder: Path) -> None:
    """Write what scikit-learn's digits are in the guide: pictures that a small network tells apart."""
    random = np.random.default_rng(3)
    labels = np.arange(400) % 10
    bright = random.random((10, 8, 8, 1), np.float32)[labels]
    images = (0.9 * bright + 0.1 * random.random(bright.shape, np.float32)).astype(np.float32)
    np.savez(folder / "training.npz", image=images[:300], label=labels[:300])
    np.savez(folder / "test.npz", image=images[300:])
    np.save(folder / "labels.npy", labels[300:])


def prepare(document: str, folder: Path) -> None:
    """Put there what a reader of the document has already, or makes with what is not installed here."""
    for name in ("model", "base", "new", "resnet18", "forest"):
        classifier(folder, name)
    digits(folder)
    if document == "guard-against-regressions-in-ci":
        shutil.copy(DOCS / "examples" / "irbench-ci.sh", folder)


@pytest.fixture
def reader(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Reader:
    """Return somebody in an empty folder, whose runs go there."""
    (tmp_path / "here" / "results").mkdir(parents=True)
    monkeypatch.setenv("HOME", str(tmp_path))
    return Reader(tmp_path / "here", tmp_path / "programs")


@pytest.mark.slow
@pytest.mark.parametrize("path", FOLLOWED, ids=lambda path: path.stem)
def test_every_block_of_a_document_works_after_those_before_it(path: Path, reader: Reader) -> None:
    prepare(path.stem, reader.folder)
    for block in blocks(path.read_text()):
        reader.follow(block)
    assert reader.calls


def test_every_call_in_a_block_is_one_that_irbench_understands(
    subtests: pytest.Subtests, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for path in FOLLOWED:
        for block in blocks(path.read_text()):
            for call in block.calls:
                for archive in re.findall(r"[^\s']+[.]tar[.]gz", call):  # an option that reads one looks for it at once
                    Path(archive).parent.mkdir(exist_ok=True)
                    Path(archive).touch()
                with subtests.test(path=path.stem, call=call):
                    understand(call)


def test_a_block_says_what_it_needs_in_known_words_on_the_line_before_it() -> None:
    for path in FOLLOWED:
        text = path.read_text()
        stated = [block.needs for block in blocks(text) if block.needs]
        assert {name for needs in stated for name in needs} <= NAMES_OF_NEEDS, path
        assert len(stated) == text.count("<!-- needs:"), path


def test_what_is_installed_by_pip_or_needs_a_service_is_marked() -> None:
    for path in FOLLOWED:
        for block in blocks(path.read_text()):
            needs_network = re.search(r"^(pip install|docker |gh |curl |irbench ab .*==)", block.text, re.MULTILINE)
            assert not needs_network or "network" in block.needs, block.text


def test_the_run_in_the_tour_is_what_irbench_prints_of_it() -> None:
    (found,) = re.findall(r"<!-- (docs/\S+[.]json) -->\n```text\n(.*?)```", FOLLOWED[0].read_text(), re.DOTALL)
    path, shown = found
    document = decode_document((ROOT / path).read_bytes(), path)
    console = Console(record=True, width=100, file=io.StringIO())
    console.print(DocumentView(document))
    assert [line.rstrip() for line in console.export_text().splitlines()] == shown.splitlines()


def steps() -> list[dict[str, Any]]:
    """Return the steps of the workflow's only job."""
    (job,) = yaml.safe_load(WORKFLOW.read_text())["jobs"].values()
    return list(job["steps"])


def test_the_workflow_uses_released_actions_and_installs_extras_that_there_are() -> None:
    text = (ROOT / "pyproject.toml").read_text()
    for step in steps():
        assert ("uses" in step) != ("run" in step)
        assert re.fullmatch(r"actions/[a-z-]+@v\d+", step.get("uses", "actions/checkout@v4"))
        for extra in re.findall(r"irbench\[(\w+)\]", step.get("run", "")):
            assert re.search(rf"^{extra} = \[", text, re.MULTILINE)


MAKE_MODEL = f"""
import sys
from pathlib import Path
sys.path.insert(0, {str(ROOT / "tests")!r})
import models
models.mlp(Path(), name="model")
"""


@pytest.mark.slow
def test_the_steps_of_the_workflow_work_one_after_the_other(reader: Reader) -> None:
    reader.instead_of("pip", 'test "$1" = install')  # irbench is installed
    for step in steps():
        if step.get("uses", "").startswith("actions/checkout"):
            folder = reader.folder / step["with"]["path"]
            folder.mkdir()
            (folder / "make_model.py").write_text(MAKE_MODEL)
            shutil.copy(WORKFLOW.with_suffix(".sh"), folder)
        elif "run" in step:
            variables = "".join(f"export {name}={value}\n" for name, value in step.get("env", {}).items())
            reader.type(variables + step["run"])
    kept = [name for step in steps() for name in step.get("with", {}).get("path", "").split() if "." in name]
    assert kept
    assert all((reader.folder / name).stat().st_size for name in kept)
    assert [call["arguments"][0] for call in reader.calls] == ["gate", "results"]
