"""The locked wheels for NVIDIA GPUs fit each other: one CUDA, and every library that ONNX Runtime loads."""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path

import pytest

LOCK = (Path(__file__).parents[2] / "requirements-gpu.lock").read_text()
_ENTRY = re.compile(r"^(?P<name>[a-z0-9][\w.-]*)==(?:.*\\\n)(?:    --hash=.*\n)+", re.MULTILINE)
_NEEDED_BY = re.compile(
    r"^nvidia-cudnn-cu\d+==.*\\\n(?:    --hash=.*\n)+    # via\n(?P<names>(?:    #   .*\n)+)", re.MULTILINE
)
_LIBRARY = re.compile(r"(?P<library>nvidia-[a-z-]+?)(?:-cu(?P<major>\d+))?")
_DRIVER = "libcuda.so.1"
_SYSTEM = re.compile(r"(?:ld-linux|lib(?:c|dl|gcc_s|m|pthread|rt|stdc\+\+)\.so).*")


def mixed_libraries(lock: str) -> str:
    """Return in what the libraries of CUDA in a lock disagree; nothing where there is one of each, for one CUDA."""
    names = [entry["name"] for entry in _ENTRY.finditer(lock) if entry["name"] != "nvidia-ml-py"]
    libraries = [found for name in names if (found := _LIBRARY.fullmatch(name))]
    twice = [library for library, count in Counter(found["library"] for found in libraries).items() if count > 1]
    majors = {found["major"] for found in libraries}
    return f"twice: {twice}, for CUDA {majors}" if twice or len(majors) != 1 else ""


def test_the_lock_has_each_library_once_and_for_one_cuda() -> None:
    assert mixed_libraries(LOCK) == ""


def test_one_cudnn_serves_onnxruntime_and_tensorflow() -> None:
    (cudnn,) = _NEEDED_BY.finditer(LOCK)
    assert {"onnxruntime-gpu", "tensorflow"} <= set(cudnn["names"].replace("#", "").split())


@pytest.mark.parametrize("added", ["nvidia-cudnn-cu13", "nvidia-cublas"])
def test_a_library_of_another_cuda_in_the_lock_is_found(added: str) -> None:
    assert "twice" in mixed_libraries(f"{LOCK}{added}==13.0 \\\n    --hash=sha256:0\n")


@pytest.mark.slow
@pytest.mark.long
def test_what_onnxruntimes_cuda_provider_links_to_is_in_the_locked_wheels() -> None:
    entries = [entry for entry in _ENTRY.finditer(LOCK) if entry["name"].startswith(("nvidia-", "onnxruntime-gpu"))]
    with tempfile.TemporaryDirectory() as folder:
        requirements, site = Path(folder) / "requirements.txt", Path(folder) / "site"
        requirements.write_text("".join(entry[0] for entry in entries))
        install = ["uv", "pip", "install", "--no-cache", "--no-deps", "--require-hashes", "--target", str(site)]
        subprocess.run([sys.executable, "-m", *install, "-r", str(requirements)], check=True)
        provider = site / "onnxruntime" / "capi" / "libonnxruntime_providers_cuda.so"
        linked = subprocess.run(["readelf", "-d", str(provider)], check=True, capture_output=True, text=True).stdout
        needed = set(re.findall(r"\(NEEDED\).*\[(.*)\]", linked))
        locked = {path.name for path in (site / "nvidia").rglob("*.so*")}
    assert any(name.startswith("libcublas") for name in needed)
    assert {name for name in needed - locked - {_DRIVER} if not _SYSTEM.fullmatch(name)} == set()
