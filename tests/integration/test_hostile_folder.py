"""irbench is called in a folder that a stranger has filled: nothing of it runs, whatever is started from there."""

from __future__ import annotations

import base64
import hashlib
import os
import sys
import zipfile
from importlib import metadata
from pathlib import Path

import models
import pytest
from fake_environments import RUNTIME, TESTS
from front_door import irbench

pytestmark = pytest.mark.ci
INDEX = 'no-index = true\nfind-links = ["{}"]\n'


def wheel(folder: Path, name: str, version: str, start: str = "") -> None:
    """Write a wheel that holds nothing but a line that Python runs whenever it starts."""
    folder.mkdir(parents=True, exist_ok=True)
    about = f"{name}-{version}.dist-info"
    files = {
        f"{name}_start.pth": start,
        f"{about}/METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n",
        f"{about}/WHEEL": "Wheel-Version: 1.0\nGenerator: a test\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    with zipfile.ZipFile(folder / f"{name}-{version}-py3-none-any.whl", "w") as archive:
        for path, text in files.items():
            archive.writestr(path, text)
        lines = [f"{path},sha256={_checksum(text)},{len(text)}" for path, text in files.items()]
        archive.writestr(f"{about}/RECORD", "\n".join([*lines, f"{about}/RECORD,,", ""]))


def _checksum(text: str) -> str:
    return base64.urlsafe_b64encode(hashlib.sha256(text.encode()).digest()).rstrip(b"=").decode()


@pytest.fixture
def ran(tmp_path: Path) -> Path:
    """Return the file that code of the stranger's makes."""
    return tmp_path / "ran"


@pytest.fixture
def folder(tmp_path: Path, ran: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a folder with a model, and uv's configuration with a wheel beside it; the user has another one."""
    models.mlp(tmp_path / "downloaded")
    downloaded = tmp_path / "downloaded"
    names = {RUNTIME.replace("-", "_"): "1.0", "numpy": metadata.version("numpy"), "onnx": metadata.version("onnx")}
    for name, version in names.items():
        # the environment has what workers need from the one of the tests
        packages = {str(metadata.distribution(needed).locate_file("")) for needed in ("numpy", "onnx", "msgspec")}
        wheel(tmp_path / "mirror", name, version, "".join(f"{path}\n" for path in sorted({*packages, str(TESTS)})))
        wheel(downloaded / "wheels", name, version, f"import pathlib; pathlib.Path({str(ran)!r}).touch()\n")
    (downloaded / "uv.toml").write_text(INDEX.format("./wheels"))
    user = tmp_path / "config" / "uv" / "uv.toml"
    user.parent.mkdir(parents=True)
    user.write_text(INDEX.format(tmp_path / "mirror"))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(user.parents[1]))
    monkeypatch.setenv("IRBENCH_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("UV_CACHE_DIR", str(tmp_path / "uv-cache"))
    monkeypatch.setenv("PATH", os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]]))
    return downloaded


def compare(folder: Path) -> str:
    called = irbench(
        "ab", next(folder.glob("*.onnx")).name, "--b", f"{RUNTIME}==1.0", "--backend", "fake-versioned", "--quick",
        folder=folder,
    )  # fmt: skip
    return called.err


@pytest.mark.parametrize("name", ["uv.toml", "pyproject.toml"])
def test_an_environment_holds_nothing_of_an_index_beside_the_model(
    name: str, folder: Path, ran: Path, tmp_path: Path
) -> None:
    if name == "pyproject.toml":
        (folder / "uv.toml").unlink()
        (folder / name).write_text(f'[project]\nname = "x"\nversion = "1"\n[tool.uv]\n{INDEX.format("./wheels")}')
    said = compare(folder)
    assert f"from file://{tmp_path / 'mirror'}" in said
    assert not ran.exists()
    assert "building" not in compare(tmp_path / "downloaded")


def test_an_environment_of_another_index_is_another_one(folder: Path, ran: Path, tmp_path: Path) -> None:
    (tmp_path / "config" / "uv" / "uv.toml").write_text(INDEX.format(folder / "wheels"))
    assert "building" in compare(folder)  # as the user asked for
    assert ran.exists()
    ran.unlink()
    (tmp_path / "config" / "uv" / "uv.toml").write_text(INDEX.format(tmp_path / "mirror"))
    assert "building" in compare(folder)
    assert not ran.exists()


def test_versions_are_listed_from_no_index_beside_the_model(folder: Path, ran: Path) -> None:
    wheel(folder / "wheels", RUNTIME.replace("-", "_"), "1.1", "")
    called = irbench(
        "bisect", next(folder.glob("*.onnx")).name, "--runtime", RUNTIME, "--from", "1.0", "--to", "1.1",
        "--backend", "fake-versioned", folder=folder,
    )  # fmt: skip
    assert "There is one release" in called.err
    assert not ran.exists()


@pytest.mark.parametrize(
    ("variable", "place"), [("UV_FIND_LINKS", "./wheels"), ("UV_INDEX", "w=wheels"), ("UV_CONFIG_FILE", "uv.toml")]
)
def test_a_place_in_the_current_folder_is_refused(
    variable: str, place: str, folder: Path, ran: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(variable, place)
    assert f"{variable} is not used" in compare(folder)
    assert not ran.exists()


def test_no_program_of_the_folder_is_started(folder: Path, ran: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("uv", "lscpu", "perf", "python3"):
        (folder / name).write_text(f"#!/bin/sh\ntouch {ran}\n")
        (folder / name).chmod(0o755)
    monkeypatch.setenv("PATH", f":{os.environ['PATH']}")
    assert "building" in compare(folder)
    assert irbench("doctor", folder=folder).code == 0
    assert not ran.exists()


@pytest.fixture
def planted(folder: Path, ran: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the folder with modules and programs of the stranger's, which search paths of the user's name by accident.

    Python itself searches the folder for irbench's own process, which these let pass.
    """
    (folder / "sitecustomize.py").write_text(
        "import os, sys\n"
        "if sys.orig_argv[1:4] == ['-P', '-m', 'irbench']: sys.path.remove(os.getcwd())\n"
        f"else: print(sys.orig_argv, file=open({str(ran)!r}, 'a'))\n"
    )
    code = f"import sys; print(__name__, sys.orig_argv, file=open({str(ran)!r}, 'a'))\n"
    for name in ("usercustomize", "numpy", "onnx", "msgspec", "json", "fake_backends", "irbench"):
        (folder / f"{name}.py").write_text(code)
    (folder / "irbench").mkdir()
    (folder / "irbench" / "__init__.py").write_text(code)
    (folder / "bin").mkdir()
    for name in ("uv", "lscpu", "perf", "python3"):
        (folder / "bin" / name).write_text(f"#!/bin/sh\necho $0 >> {ran}\n")
        (folder / "bin" / name).chmod(0o755)
    monkeypatch.setenv("PYTHONPATH", f"{os.environ.get('PYTHONPATH', '')}:")
    monkeypatch.setenv("PATH", f"bin:{os.environ['PATH']}")
    return folder


def test_no_process_imports_a_module_of_the_folder(planted: Path, ran: Path) -> None:
    model = next(planted.glob("*.onnx")).name
    called = irbench("run", model, "--backends", "fake-a", "--quick", folder=planted)
    assert called.code == 0, called.err
    assert irbench("doctor", folder=planted).code == 0
    assert "building" in compare(planted)
    assert not ran.exists(), ran.read_text()


def test_a_command_of_the_users_imports_the_modules_beside_it(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "tools").mkdir()
    (tmp_path / "tools" / "beside.py").write_text("LINE = '3 ms'\n")
    loop = "import time, beside\nwhile True: time.sleep(0.004); print(beside.LINE)\n"
    (tmp_path / "tools" / "tool.py").write_text(loop)
    model, tool = next(folder.glob("*.onnx")).name, tmp_path / "tools" / "tool.py"
    cell = f"mine={sys.executable} -u {tool}"
    called = irbench("run", model, "--backends", "fake-a", "--cell", cell, "--quick", folder=folder)
    assert called.code == 0, called.err
