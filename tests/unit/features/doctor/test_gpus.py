"""What the doctor tells of GPUs, as a scripted NVML answers in place of the driver."""

from __future__ import annotations

import io
import sys
from dataclasses import replace
from importlib import metadata
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from machines import OVERHEAD, facts
from rich.console import Console
from scripted_nvml import NVMLError, ScriptedNvml, put_in_place

from irbench.features.doctor import gpus
from irbench.features.doctor.findings import Finding, find
from irbench.features.doctor.gpus import GpuFacts, describe_gpus
from irbench.features.doctor.report import Report
from irbench.features.doctor.view import ReportView


@pytest.fixture(autouse=True)
def packages(monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    """The packages that are installed, and no process of MPS."""
    installed = {"onnxruntime-gpu": "1.26.0", "nvidia-cudnn-cu12": "9.10.2.21"}

    def version(name: str) -> str:
        if name not in installed:
            raise metadata.PackageNotFoundError(name)
        return installed[name]

    monkeypatch.setattr(metadata, "version", version)
    monkeypatch.setattr(gpus, "distributions", lambda: ("numpy", "onnxruntime"))
    monkeypatch.setattr(gpus.psutil, "process_iter", lambda _: iter(()))
    return installed


@pytest.fixture(autouse=True)
def kernel(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """What the driver puts into the file system, in a folder."""
    for name in ("version", "nvidia-uvm"):
        (tmp_path / name).touch()
    monkeypatch.setattr(gpus, "NVIDIA_DRIVER", tmp_path / "version")
    monkeypatch.setattr(gpus, "OPENED_BY_CUDA", (tmp_path / "nvidia-uvm",))
    return tmp_path


def seen(**changes: Any) -> tuple[Finding, ...]:
    return find(replace(facts(**changes), gpus=describe_gpus()))


def found(monkeypatch: pytest.MonkeyPatch, *scripts: dict[str, Any], visible: str | None = None) -> tuple[Finding, ...]:
    put_in_place(monkeypatch, ScriptedNvml(*scripts))
    if visible is not None:
        monkeypatch.setenv("CUDA_VISIBLE_DEVICES", visible)
    return seen()


def test_a_quiet_gpu_is_described_and_nothing_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    assert found(monkeypatch) == ()
    described = describe_gpus()
    assert (described.driver, described.cuda, described.missing) == ("580.65.06", "13.0", None)
    (gpu,) = described.gpus
    assert (gpu.name, gpu.capability, gpu.free_bytes) == ("NVIDIA H100 80GB HBM3", "9.0", 79_000_000_000)
    assert (gpu.ecc, gpu.is_divided, gpu.persistence, gpu.compute_mode) == (True, False, True, "default")
    assert (gpu.sm_mhz, gpu.most_mhz, gpu.limits, gpu.is_for_rows) == (1_980, 1_980, (), True)


BUSY = [SimpleNamespace(pid=999_999_999)]


@pytest.mark.parametrize(
    ("script", "code", "figure", "command"),
    [
        ({"nvmlDeviceGetComputeRunningProcesses": BUSY}, "gpu-busy", "process 999999999", "nvidia-smi"),
        ({"nvmlDeviceGetCurrentClocksEventReasons": 0xC4}, "gpu-slowed", "hardware thermal and power brake", "-q -d"),
        ({"nvmlDeviceGetMigMode": [1, 1]}, "gpu-divided", "GPU 0 is divided", "nvidia-smi -i 0 -mig 0"),
        ({"nvmlDeviceGetComputeMode": 3}, "gpu-compute-mode", "exclusive process", "nvidia-smi -i 0 -c DEFAULT"),
        ({"nvmlDeviceGetPersistenceMode": 0}, "gpu-no-persistence", "persistence mode is off", "nvidia-smi -pm 1"),
        (
            {"nvmlDeviceGetMemoryInfo": SimpleNamespace(total=8 * 10**9, free=10**9, used=7 * 10**9)},
            "gpu-little-memory",
            "1.00 GB of the memory of GPU 0",
            "nvidia-smi",
        ),
    ],
)
def test_what_disturbs_a_gpu_is_found_with_its_remedy(
    monkeypatch: pytest.MonkeyPatch, script: dict[str, Any], code: str, figure: str, command: str
) -> None:
    (finding,) = found(monkeypatch, script)
    words = finding.words()
    assert finding.code == code
    assert figure in words.found
    assert words.effect
    assert words.remedy
    assert words.command is not None
    assert command in words.command


def test_a_gpu_that_rows_do_not_see_disturbs_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    busy = {"nvmlDeviceGetComputeRunningProcesses": BUSY}
    assert found(monkeypatch, {}, busy) == ()
    assert [finding.code for finding in found(monkeypatch, {}, busy, visible="0,1")] == ["gpu-busy"]


def test_a_gpu_of_which_rows_are_shown_a_part_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    (finding,) = found(monkeypatch, {}, {"nvmlDeviceGetMigMode": [1, 1]}, visible="MIG-0abc")
    assert finding.words().command == "sudo nvidia-smi -i 1 -mig 0"


def test_a_gpu_that_runs_at_its_power_cap_is_as_it_should_be(monkeypatch: pytest.MonkeyPatch) -> None:
    assert found(monkeypatch, {"nvmlDeviceGetCurrentClocksEventReasons": 0x4}) == ()


def test_what_an_old_gpu_does_not_tell_is_unknown_and_no_finding(monkeypatch: pytest.MonkeyPatch) -> None:
    names = ("EccMode", "MigMode", "PersistenceMode", "ComputeMode", "MemoryInfo", "ClockInfo", "MaxClockInfo")
    assert found(monkeypatch, {f"nvmlDeviceGet{name}": NVMLError("Not Supported") for name in names}) == ()
    (gpu,) = describe_gpus().gpus
    assert (gpu.ecc, gpu.is_divided, gpu.persistence, gpu.compute_mode) == (None, False, None, None)
    assert (gpu.free_bytes, gpu.sm_mhz, gpu.most_mhz) == (None, None, None)


def test_a_missing_device_of_cuda_is_found_with_the_remedy_for_where_irbench_runs(
    monkeypatch: pytest.MonkeyPatch, kernel: Path
) -> None:
    (kernel / "nvidia-uvm").unlink()
    (finding,) = found(monkeypatch)
    assert (finding.code, finding.words().command) == ("gpu-no-uvm", "sudo nvidia-modprobe -u -c=0")
    (contained,) = seen(container="docker")
    assert contained.words().command == "docker run --gpus all ..."
    (contained,) = seen(container="kubernetes")
    assert "from outside (kubernetes)" in contained.words().remedy


def test_mps_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    server = SimpleNamespace(info={"name": "nvidia-cuda-mps"})
    monkeypatch.setattr(gpus.psutil, "process_iter", lambda _: iter([server]))
    (finding,) = found(monkeypatch)
    assert (finding.code, finding.words().command) == ("gpu-shared", "echo quit | nvidia-cuda-mps-control")


def test_a_driver_without_the_binding_is_found(monkeypatch: pytest.MonkeyPatch, kernel: Path) -> None:
    monkeypatch.setitem(sys.modules, "pynvml", None)
    (finding,) = seen()
    assert (finding.code, finding.words().command) == ("gpu-unreadable", "pip install 'nvidia-ml-py>=12'")
    for name in ("version", "nvidia-uvm"):
        (kernel / name).unlink()
    assert seen() == ()


def test_a_driver_that_does_not_answer_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    scripted = ScriptedNvml()

    def fail() -> None:
        raise NVMLError("Driver/library version mismatch")

    monkeypatch.setattr(scripted, "nvmlInit", fail, raising=False)
    put_in_place(monkeypatch, scripted)
    (finding,) = seen()
    assert (finding.code, finding.words().command) == ("gpu-unreadable", "nvidia-smi")


@pytest.mark.parametrize(
    ("package", "code", "command"),
    [
        ("onnxruntime", "several-runtimes", "pip uninstall -y onnxruntime onnxruntime-gpu && pip install"),
        ("nvidia-cudnn-cu13", "several-cudnns", "pip uninstall -y nvidia-cudnn-cu12 nvidia-cudnn-cu13 && pip install"),
    ],
)
def test_packages_that_install_the_same_files_are_found_without_a_gpu_too(
    monkeypatch: pytest.MonkeyPatch, kernel: Path, packages: dict[str, str], package: str, code: str, command: str
) -> None:
    packages[package] = "1.2.3"
    monkeypatch.setitem(sys.modules, "pynvml", None)
    (kernel / "version").unlink()
    (finding,) = seen()
    assert finding.code == code
    assert f"{package} 1.2.3" in finding.words().found
    assert command in str(finding.words().command)


def printed(described: GpuFacts) -> str:
    console = Console(width=100, record=True, file=io.StringIO())
    console.print(ReportView(Report(replace(facts(), gpus=described), (), OVERHEAD), ""))
    return " ".join(console.export_text().split())


def test_the_report_describes_each_gpu_and_says_nothing_without_a_driver(monkeypatch: pytest.MonkeyPatch) -> None:
    put_in_place(monkeypatch, ScriptedNvml({"nvmlDeviceGetCurrentClocksEventReasons": 0x4}, {}))
    text = printed(describe_gpus())
    assert "GPU driver NVIDIA 580.65.06, for CUDA up to 13.0, MPS off" in text
    assert "GPU 0 NVIDIA H100 80GB HBM3, compute capability 9.0, 79.00 of 80.00 GB free" in text
    assert "clock 1,980 of 1,980 MHz, limited by power cap, ECC on, MIG off, persistence on" in text
    assert text.count("not used by rows") == 1
    assert "GPU" not in printed(GpuFacts())
