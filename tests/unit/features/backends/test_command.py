"""``irbench backends`` says what can run, and what installs the rest."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from front_door import irbench

from irbench.core import registry
from irbench.errors import IrbenchError
from irbench.features.backends import command as backends
from irbench.requests import probes
from irbench.spi import Availability, Description

HERE = Availability(("cpu",), {"cpu": ("fp32", "bf16")}, {"cpu": "bf16"}, {"cpu": "a processor"})


class Stub:
    def __init__(self, name: str, version: str | None) -> None:
        install = "" if version else f"pip install 'irbench-onnx[{name}]'"
        self._description = Description(name, f"{name}-runtime", version, ("cpu", "gpu"), install)

    def describe(self) -> Description:
        return self._description


@pytest.fixture
def two_backends(monkeypatch: pytest.MonkeyPatch) -> None:
    stubs = {"quick": Stub("quick", "1.2.3"), "absent": Stub("absent", None)}
    monkeypatch.setattr(registry, "load_all", lambda _group: stubs)


def run(*arguments: str) -> Result:
    return CliRunner().invoke(backends.command, arguments, catch_exceptions=False)


@pytest.mark.usefixtures("two_backends")
def test_a_missing_runtime_is_listed_with_the_exact_command_that_installs_it():
    listed = run()
    assert listed.exit_code == 0
    assert "pip install 'irbench-onnx[absent]'" in listed.stdout
    assert "1.2.3" in listed.stdout
    assert "cpu, gpu (not probed)" in listed.stdout
    assert "irbench backends --probe" in listed.stderr


@pytest.mark.usefixtures("two_backends")
def test_the_json_form_has_numbers_and_nulls_and_no_decoration():
    (quick, absent) = json.loads(run("--format", "json").stdout)["backends"]
    assert quick["version"] == "1.2.3"
    assert quick["install"] is None
    assert quick["found"] is None
    assert absent["version"] is None
    assert absent["install"] == "pip install 'irbench-onnx[absent]'"


@pytest.mark.usefixtures("two_backends")
def test_what_a_probe_found_is_shown_and_remembered(monkeypatch: pytest.MonkeyPatch):
    asked: list[str] = []

    def answer(target: str, name: str, *, deadline_s: float) -> Availability:
        assert deadline_s > 0
        asked.append(f"{target} {name}")
        return HERE

    monkeypatch.setattr("irbench.worker.call_in_worker", answer)
    assert "cpu: fp32, bf16; native is bf16" in run("--probe").stdout
    assert "cpu: fp32, bf16; native is bf16" in run().stdout
    assert json.loads(run("--format", "json").stdout)["backends"][0]["found"]["precisions"] == {"cpu": ["fp32", "bf16"]}
    assert asked == ["irbench.worker.probing:probe quick"]


@pytest.mark.usefixtures("two_backends")
@pytest.mark.parametrize("fallback", [True, False], ids=["another folder", "nowhere"])
def test_where_the_folder_for_models_cannot_be_written_runtimes_are_probed_all_the_same(
    own_home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fallback: bool
):
    monkeypatch.setattr("irbench.worker.call_in_worker", lambda *_arguments, **_options: HERE)
    closed, access = own_home / "cache", os.access
    closed.mkdir()
    monkeypatch.setattr(os, "access", lambda path, mode: Path(path) != closed and access(path, mode))
    monkeypatch.setenv("TMPDIR", str(tmp_path if fallback else tmp_path / "missing"))
    (closed / "probes").touch()  # root is not held back by permissions
    probed = irbench("backends", "--probe")
    assert probed.code == 0
    assert "cpu: fp32, bf16; native is bf16" in probed.out
    assert probed.err.count("cannot be written") == int(fallback)
    assert ("not probed" in irbench("backends").out) is not fallback


@pytest.mark.usefixtures("two_backends")
def test_a_probe_that_fails_is_a_row_with_its_reason_and_is_not_remembered(monkeypatch: pytest.MonkeyPatch):
    def fail(*_arguments: object, **_options: object) -> Availability:
        raise IrbenchError("It crashed with SIGSEGV.", hint="Reinstall it.")

    monkeypatch.setattr("irbench.worker.call_in_worker", fail)
    probed = run("--probe")
    assert probed.exit_code == 0
    assert "It crashed with SIGSEGV. Reinstall it." in " ".join(probed.stdout.split())
    assert "not probed" in run().stdout


def test_another_version_is_not_answered_from_memory(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("irbench.worker.call_in_worker", lambda *_arguments, **_options: HERE)
    now = Description("quick", "quick-runtime", "1.2.3")
    probes.probe(now)
    assert probes.remembered(now) == HERE
    assert probes.remembered(Description("quick", "quick-runtime", "1.2.4")) is None
    assert probes.remembered(Description("other", "quick-runtime", "1.2.3")) is None


@pytest.mark.parametrize("content", ["", "{}", "[1]", '{"made_with": null, "found": {}}'])
def test_a_damaged_memory_is_no_memory(own_home: Path, content: str):
    folder = own_home / "cache" / "probes"
    folder.mkdir(parents=True)
    (folder / "quick.json").write_text(content)
    assert probes.remembered(Description("quick", "quick-runtime", "1.2.3")) is None


def test_a_broken_plugin_is_a_line_on_stderr(monkeypatch: pytest.MonkeyPatch):
    import warnings

    def warn(_group: str) -> dict[str, Stub]:
        for _ in range(2):
            warnings.warn("The backend 'shaky' of irbench-shaky is broken.", registry.PluginWarning, stacklevel=1)
        return {"quick": Stub("quick", "1.2.3")}

    monkeypatch.setattr(registry, "load_all", warn)
    listed = run()
    assert listed.stderr.count("warning: The backend 'shaky' of irbench-shaky") == 1
    assert "quick" in listed.stdout


def test_listing_imports_no_runtime(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.delenv("PYTHONPATH")  # leaves out the stand-ins of other tests, which import what they like
    heavy = {"numpy", "onnx", "onnxruntime", "openvino", "tensorflow", "keras"}
    code = (
        "import sys; from click.testing import CliRunner; from irbench.features.backends.command import command;"
        f"print(CliRunner().invoke(command, []).exit_code); print(sorted({heavy} & set(sys.modules)))"
    )
    printed = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert printed == "0\n[]\n"


@pytest.mark.ci
@pytest.mark.parametrize("name", ["openvino", "ort"])
def test_a_real_probe_finds_the_processor(name: str):
    found = probes.probe(registry.require_installed(name))
    assert found.devices[0] == "cpu"
    assert "fp32" in found.precisions["cpu"]
    assert found.native["cpu"] in {"fp32", "bf16", "fp16"}


def test_what_a_probe_found_of_gpus_is_void_with_another_driver_other_wheels_or_other_gpus_shown(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    on_gpus = Description("quick", "quick-runtime", "1.2.3", ("cpu", "cuda"), nvidia_devices=("cuda",))
    on_cpus = replace(on_gpus, nvidia_devices=())
    driver, wheels = tmp_path / "version", tmp_path / "site-packages"
    driver.write_text("NVRM version: NVIDIA UNIX x86_64 Kernel Module  580.65.06")
    (wheels / "nvidia_cudnn_cu12-9.10.2.21.dist-info").mkdir(parents=True)
    monkeypatch.setattr(probes, "NVIDIA_DRIVER", driver)
    monkeypatch.syspath_prepend(wheels)
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    monkeypatch.setattr("irbench.worker.call_in_worker", lambda *_arguments, **_options: HERE)
    probes.probe(on_gpus)
    assert probes.remembered(on_gpus) == HERE

    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "1")
    assert probes.remembered(on_gpus) is None
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES")
    driver.write_text("NVRM version: NVIDIA UNIX x86_64 Kernel Module  590.1")
    assert probes.remembered(on_gpus) is None
    probes.probe(on_gpus)
    (wheels / "nvidia_cudnn_cu12-9.10.2.21.dist-info").rename(wheels / "nvidia_cudnn_cu13-9.12.0.46.dist-info")
    assert probes.remembered(on_gpus) is None
    probes.probe(on_cpus)
    driver.unlink()
    assert probes.remembered(on_cpus) == HERE
