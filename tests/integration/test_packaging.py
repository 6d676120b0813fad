"""What is shipped, and that it starts where nothing else is installed."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tomllib
import venv
import zipfile
from pathlib import Path

import models
import pytest

from irbench.environments.inspection import OLDEST

ROOT = Path(__file__).parents[2]
PACKAGES = {"irbench", "irbench_tf", "irbench_ort", "irbench_openvino", "irbench_torch", "irbench_jax", "irbench_zoo"}
LOCKS = ("requirements.lock", "requirements-gpu.lock", "requirements-keras-hub.lock", "requirements-optimizers.lock",
         "requirements-loadgen.lock", "requirements-jax.lock")  # fmt: skip
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)]
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True)
    (found,) = folder.glob("*.whl")
    return found


def test_the_wheel_holds_our_packages_and_nothing_else(wheel: Path) -> None:
    names = zipfile.ZipFile(wheel).namelist()
    tops = {name.split("/")[0] for name in names}
    assert {top for top in tops if not top.endswith(".dist-info")} == PACKAGES


def test_the_wheel_holds_every_source_file(wheel: Path) -> None:
    shipped = set(zipfile.ZipFile(wheel).namelist())
    for folder in (ROOT, ROOT / "backends", ROOT / "model_zoo"):
        for package in PACKAGES:
            for path in (folder / package).rglob("*.py"):
                assert str(path.relative_to(folder)) in shipped
    assert "irbench/py.typed" in shipped
    assert {"irbench/store/run.schema.json", "irbench/features/profile/profile.schema.json"} <= shipped
    assert {"irbench/features/plan/plans/plan.schema.json", "irbench/features/plan/plans/batch-curve.toml"} <= shipped


def test_no_module_of_a_generic_name_is_shipped(wheel: Path) -> None:
    assert not any(name.startswith(("backends/", "model_zoo/", "tests/")) for name in zipfile.ZipFile(wheel).namelist())


@pytest.mark.parametrize("name", [*LOCKS, "pyproject.toml", "Makefile"])
def test_no_file_names_a_registry(name: str) -> None:
    text = (ROOT / name).read_text()
    assert not re.search(r"(index-url|find-links)[ =]+\S*/|https?://\S*(pypi|simple)", text)


@pytest.mark.parametrize("name", LOCKS)
def test_every_locked_distribution_has_a_hash(name: str) -> None:
    text = (ROOT / name).read_text()
    pins = re.findall(r"^[a-z0-9][\w.-]*==.*\\\n((?:    --hash=sha256:\w{64}.*\n)+)", text, re.MULTILINE)
    assert 0 < len(pins) == len(re.findall(r"^[a-z0-9][\w.-]*==", text, re.MULTILINE))


def test_the_two_builds_of_onnxruntime_are_never_locked_together() -> None:
    cpu, gpu = ((ROOT / name).read_text() for name in ("requirements.lock", "requirements-gpu.lock"))
    assert "\nonnxruntime==" in cpu
    assert "onnxruntime-gpu==" not in cpu
    assert "\nonnxruntime-gpu==" in gpu
    assert "\nonnxruntime==" not in gpu


def test_what_only_some_models_of_the_zoo_need_is_locked_apart_and_in_the_versions_of_the_others() -> None:
    usual, hub = (
        dict(re.findall(r"^([a-z0-9][\w.-]*)==(\S+)", (ROOT / name).read_text(), re.MULTILINE))
        for name in (LOCKS[0], LOCKS[2])
    )
    assert "keras-hub" in hub
    assert "keras-hub" not in usual
    assert {name: version for name, version in hub.items() if name in usual} == {
        name: version for name, version in usual.items() if name in hub
    }


def test_the_supported_pythons_are_the_same_wherever_they_are_named() -> None:
    supported = [name.split(" :: ")[-1] for name in PROJECT["classifiers"] if re.search(r"Python :: 3[.]", name)]
    oldest, newest = supported[0], supported[-1]
    assert supported == [f"3.{minor}" for minor in range(int(oldest[2:]), int(newest[2:]) + 1)]
    assert PROJECT["requires-python"] == f">={oldest}"
    assert ".".join(map(str, OLDEST)) == oldest
    tools = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]
    assert tools["ruff"]["target-version"] == f"py{oldest.replace('.', '')}"
    for page in ("README.md", "docs/installing.md", "docs/tour.md"):
        assert f"Python {oldest} to {newest}" in (ROOT / page).read_text(), page
    listed = subprocess.run(["make", "-s", "pythons"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    assert {Path(line).name.removeprefix("python") for line in listed.splitlines()} <= set(supported)


@pytest.mark.parametrize(
    ("version", "said"), [("3.10", "needs Python 3.11 or newer"), ("3.14", "TensorFlow has no wheel")]
)
def test_make_setup_says_which_pythons_it_cannot_take(version: str, said: str, tmp_path: Path) -> None:
    shutil.copy(ROOT / "Makefile", tmp_path)
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    (tmp_path / "requirements.lock").touch()
    programs = tmp_path / ".venv" / "bin"
    programs.mkdir(parents=True)
    is_old = f'case "$2" in *version_info*"<"*) exit {int(version == "3.10")};; esac'
    for name, script in {"python": f"{is_old}\necho {version}", "uv": "exit 1"}.items():
        (programs / name).write_text(f"#!/bin/sh\n{script}\n")
        (programs / name).chmod(0o755)
    if version == "3.10":
        (programs / "uv").unlink()
    command = ["make", "setup", f"PYTHON={programs / 'python'}"]
    made = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert made.returncode == 2
    assert said in made.stdout
    assert "hint: make PYTHON=python3.13 setup" in made.stdout


def base_environment(folder: Path) -> Path:
    """Make an environment that holds irbench's base dependencies and no runtime, from the files installed here."""
    venv.create(folder, with_pip=False, symlinks=True)
    (site,) = (folder / "lib").glob("python*/site-packages")
    import onnx

    installed = Path(onnx.__file__).parents[1]
    base = (
        "click", "msgspec", "numpy", "numpy.libs", "onnx", "platformdirs", "psutil", "pydantic", "rich", "tomli_w",
    )  # fmt: skip
    needed = (
        "annotated_types", "google", "markdown_it", "mdurl", "ml_dtypes", "pydantic_core", "pygments",
        "typing_extensions.py", "typing_inspection",
    )  # fmt: skip
    for name in (*base, *needed):
        if (installed / name).exists():
            (site / name).symlink_to(installed / name)
    for info in installed.glob("*.dist-info"):
        if info.name.split("-")[0].lower() in {*base, "irbench_onnx"}:
            (site / info.name).symlink_to(info)
    (site / "irbench.pth").write_text("\n".join(str(ROOT / part) for part in ("", "backends", "model_zoo")))
    return folder / "bin" / "python"


@pytest.fixture(scope="module")
def bare(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return base_environment(tmp_path_factory.mktemp("bare") / "venv")


def call(python: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    return subprocess.run([python, "-m", "irbench", *arguments], capture_output=True, text=True, env=environment)


@pytest.mark.ci
@pytest.mark.parametrize(
    "arguments",
    [
        ("--help",),
        ("--version",),
        ("models",),
        ("backends",),
        ("results",),
        ("run", "--help"),
        ("export", "--help"),
        ("plan", "list"),
    ],
)
def test_listings_and_help_work_without_any_runtime(bare: Path, arguments: tuple[str, ...]) -> None:
    called = call(bare, *arguments)
    assert called.returncode == 0, called.stderr
    assert "Traceback" not in called.stderr


@pytest.mark.ci
def test_a_missing_runtime_is_named_with_the_command_that_installs_it(bare: Path, tmp_path: Path) -> None:
    called = call(bare, "run", str(models.mlp(tmp_path).path), "--backends", "ort")
    assert called.returncode == 5
    assert re.search(r"pip install .*'onnxruntime>=", called.stderr)


@pytest.mark.ci
def test_without_any_runtime_a_run_says_what_to_install(bare: Path, tmp_path: Path) -> None:
    called = call(bare, "run", str(models.mlp(tmp_path).path))
    assert called.returncode == 5
    assert re.search(r"pip install .*'onnxruntime>=", called.stderr)


@pytest.mark.ci
def test_without_pytest_the_contracts_say_what_to_install(bare: Path) -> None:
    command = [bare, "-c", "import irbench.testing"]
    called = subprocess.run(command, capture_output=True, text=True, env={"PATH": os.environ["PATH"]})
    last = called.stderr.splitlines()[-1]
    assert last.startswith("ImportError: irbench.testing needs pytest")
    assert re.search(r"pip install .*\[testing\]", last)


def test_backends_that_are_missing_are_listed_with_their_install_command(bare: Path) -> None:
    listed = call(bare, "backends").stdout
    for distribution in ("onnxruntime>=", "openvino>=", "tensorflow<"):
        assert re.search(rf"pip install .*'{distribution}", listed)
