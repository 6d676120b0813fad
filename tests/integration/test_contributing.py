"""CONTRIBUTING.md is followed to the letter: its code in a fresh environment, by its own commands."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
import sysconfig
import venv
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
TEXT = (ROOT / "CONTRIBUTING.md").read_text()
FILES: dict[str, str] = dict(re.findall(r"^`(irbench-\S+)`:\n\n```\w+\n(.*?)^```", TEXT, re.MULTILINE | re.DOTALL))


@pytest.fixture(scope="module")
def checkout(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder like a checkout after ``make setup``, with the document's files beside it.

    Its environment is new. What others wrote is taken from ours, because to fetch it again takes minutes; irbench
    itself is built and installed again.
    """
    folder = tmp_path_factory.mktemp("checkout")
    venv.create(folder / ".venv", with_pip=False, symlinks=True)
    (site,) = (folder / ".venv" / "lib").glob("python*/site-packages")
    (site / "others.pth").write_text(sysconfig.get_path("purelib"))
    (folder / ".venv/bin/uv").symlink_to(Path(sys.executable).with_name("uv"))
    for name in ("docs", "tests", "pyproject.toml"):
        (folder / name).symlink_to(ROOT / name)
    for name, text in FILES.items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(text)
    install = ".venv/bin/uv pip install --no-cache --python .venv --no-deps --no-build-isolation"
    follow(folder, f"{install} {shlex.quote(str(ROOT))}")
    return folder


def commands(heading: str) -> list[str]:
    """Return the command lines of a section, in order."""
    (found,) = re.findall(rf"^## {heading}\n(.*?)^## ", TEXT, re.MULTILINE | re.DOTALL)
    outside_of_code = re.sub(r"^```.*?^```", "", found, flags=re.MULTILINE | re.DOTALL)
    return re.findall(r"^    (\S.*)$", outside_of_code, re.MULTILINE)


def follow(folder: Path, command: str) -> str:
    """Call what the document says, in a shell's environment of its own; return what it printed."""
    kept = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "VIRTUAL_ENV")}
    kept["PYTEST_DEBUG_TEMPROOT"] = str(folder)  # a pytest that starts elsewhere first removes what earlier ones left
    done = subprocess.run(shlex.split(command), cwd=folder, env=kept, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, f"{command}\n{done.stdout}\n{done.stderr}"
    return done.stdout


def test_a_whole_distribution_is_shown_in_under_60_lines():
    files = [text for name, text in FILES.items() if name.startswith("irbench-tiny")]
    assert len(files) == 2
    assert sum(bool(line.strip()) for text in files for line in text.splitlines()) < 60


@pytest.mark.ci
def test_the_model_of_the_document_is_listed_exported_and_run(checkout: Path):
    install, listing, export, run = commands("A model")
    follow(checkout, install)
    assert "tiny_cnn" in follow(checkout, listing)
    follow(checkout, export)
    table = follow(checkout, f"{run} --budget 5s --format md")
    assert "max err: against TensorFlow at export" in table
    assert "mismatch" not in table
