"""Projects of models for the scripted exporter: each model is a number, which a run multiplies with."""

from __future__ import annotations

import importlib
import os
import sys
from pathlib import Path

import fake_exporter
import pytest

from irbench.core import registry
from irbench.core.record import OutputError
from irbench.exporter.build import ExportWorker
from irbench.features.export.run import ExportedModel, ExportListener, export_with
from irbench.options.export import ExportOptions
from irbench.requests.resolve import resolve_bundles

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

def models():
    yield ModelSource("fake_scaled", "fake", "a number", (), build, {})
"""


def call_here(target: str, *args: object, say: object, **_: object) -> object:
    """Do what a worker does within this process, which spares its start, with none of the user's modules imported."""
    module, _, function = target.partition(":")
    folder, path = Path.cwd(), [*sys.path]
    importlib.invalidate_caches()
    forget_modules_of_users()
    try:
        return getattr(importlib.import_module(module), function)(*args, say)
    finally:
        os.chdir(folder)
        sys.path[:] = path
        forget_modules_of_users()


def forget_modules_of_users() -> None:
    for name in [*sys.modules]:
        if name.partition(".")[0] in USERS:
            del sys.modules[name]
    registry.forget()


USERS = {"nets", "single", "helper", "edited", "hidden", "deep", "layers", "fake_plugin", "fake_scales"}


def make_project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Make a folder with a model of each kind the current one; every model is 2."""
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
    monkeypatch.setattr(ExportWorker, "accept", lambda *_: OutputError(0.0, 0.0, 1.0, None))
    monkeypatch.setattr("irbench.exporter.build.call_in_worker", call_here)
    monkeypatch.setattr(sys, "dont_write_bytecode", True)  # Python does not see that a second later it is another file
    monkeypatch.setenv("PYTHONDONTWRITEBYTECODE", "1")
    fake_exporter.register(plugin, monkeypatch, "fake = fake_plugin:models")
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
