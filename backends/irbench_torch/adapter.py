"""The PyTorch backends: description, probe and sessions."""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping
from importlib import metadata
from importlib.util import find_spec

from irbench.spec import Artifact, Load
from irbench.spi import (
    Availability,
    Description,
    Phases,
    ProfiledSession,
    Refusal,
    Session,
    Usage,
    UsedModel,
    extra_command,
    home,
)
from irbench_torch.operator_kinds import OPERATOR_KINDS
from irbench_torch.options import COMPILE_OPTIONS, EAGER_OPTIONS, TorchOptions, environment_for, options_of

_DEVICES = ("cpu", "cuda")
_COMPILERS = ("g++", "clang++", "c++")


class TorchBackend:
    """Runs artifacts of kind ``torch-export`` on PyTorch."""

    consumes: tuple[str, ...] = ("torch-export",)

    def __init__(self, name: str, *, compiles: bool) -> None:
        self.name = name
        self._compiles = compiles

    def describe(self) -> Description:
        """Say what is installed, from metadata."""
        try:
            version = metadata.version("torch")
        except metadata.PackageNotFoundError:
            version = None
        return Description(
            self.name,
            "torch",
            version,
            _DEVICES,
            "" if version else extra_command("torch"),
            options=COMPILE_OPTIONS if self._compiles else EAGER_OPTIONS,
            nvidia_devices=("cuda",),
            is_original=not self._compiles,
            cache_folders=("cache_dir",) if self._compiles else (),
            files=(),
            variables=("TORCH", "PYTORCH_", "OMP_", "MKL_", "KMP_"),
            tunable={"cpu": {"memory_format": ("contiguous", "channels_last")}},
            operator_kinds=OPERATOR_KINDS,
        )

    def probe(self) -> Availability:
        """Ask PyTorch for devices; autocast gives each device its narrow precision."""
        import torch

        devices = ("cpu", "cuda") if torch.cuda.is_available() else ("cpu",)
        precisions = {"cpu": ("fp32", "bf16"), "cuda": ("fp32", "bf16", "fp16")}
        return Availability(
            devices,
            {device: precisions[device] for device in devices},
            dict.fromkeys(devices, "fp32"),
            {"cpu_capability": torch.backends.cpu.get_cpu_capability()},
        )

    def check_load(self, load: Load, device: str, _graph_precision: str, /) -> None:
        """Refuse unknown options, impossible precisions, and compiling without a compiler."""
        self._asked(load, device)

    def import_runtime(self, load: Load, device: str, /) -> None:
        """Set the environment, import PyTorch, and pin its threads and the precision of its products."""
        asked = self._asked(load, device)
        if find_spec("torch") is None:
            raise Refusal("PyTorch is not installed.", hint=extra_command("torch"))
        os.environ.update(environment_for(asked))
        if asked.mode is not None:
            os.environ.setdefault("TORCHINDUCTOR_CACHE_DIR", str(home() / "inductor"))
        import torch

        if device != "cpu" and not torch.cuda.is_available():
            raise Refusal("PyTorch finds no CUDA device on this machine.", hint=f"Use the device cpu: {self.name}.")
        if asked.threads is not None:
            torch.set_num_threads(asked.threads)
        if torch.get_num_interop_threads() != asked.inter_op_threads:  # it can be set once
            torch.set_num_interop_threads(asked.inter_op_threads)
        torch.set_float32_matmul_precision("highest")
        torch.backends.cudnn.allow_tf32 = False
        if asked.mode is not None:
            import torch._dynamo
            import torch._inductor.compile_fx

    def compile(self, artifact: Artifact, load: Load, device: str, phases: Phases, /) -> Session:
        """Load the program and make a session of it; inductor compiles here, for the shapes of ``artifact``."""
        from irbench_torch.session import TorchSession

        return TorchSession(artifact, self._asked(load, device), phases)

    def compile_profiled(self, artifact: Artifact, load: Load, device: str, phases: Phases, /) -> ProfiledSession:
        """Compile as :meth:`compile` does; PyTorch's profiler records what runs."""
        from irbench_torch.profiling import ProfiledTorchSession

        if device != "cpu":
            raise Refusal(f"{self.name} can be profiled on the CPU alone.", hint="Profile it on the CPU.")
        return ProfiledTorchSession(artifact, self._asked(load, device), phases)

    def usage(self, model: UsedModel, load: Load, device: str, /) -> Usage:
        """Return how PyTorch is used for a load."""
        from irbench_torch.usage import usage

        return usage(model, self._asked(load, device))

    def _asked(self, load: Load, device: str) -> TorchOptions:
        if device not in _DEVICES:
            raise Refusal(f"{self.name} has no device {device!r}.", hint=f"Devices: {', '.join(_DEVICES)}.")
        asked = options_of(load, device, self.name, compiles=self._compiles)
        if self._compiles and not _has_compiler(os.environ):
            raise Refusal(
                "torch-compile needs a C++ compiler, and there is none.",
                hint="Install one (Debian: apt-get install g++), or name it: CXX=/path/to/g++.",
            )
        return asked


def _has_compiler(environment: Mapping[str, str]) -> bool:
    named = environment.get("CXX")
    return any(shutil.which(name) for name in ((named,) if named else _COMPILERS))
