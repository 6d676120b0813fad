"""Starting a worker with another interpreter than ours, and with nothing of our environment but irbench itself.

The other environment brings the runtime and what the worker needs. It must not find our packages: a runtime that it
lacks would be ours. So it imports irbench and its backends from a folder of links to them that holds nothing else.
"""

from __future__ import annotations

import atexit
import importlib.util
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from functools import cache
from importlib import metadata
from pathlib import Path

from irbench.core import registry
from irbench.system.programs import clean_environment
from irbench.worker.scratch import scratch_folder

_NAMES = (
    *("HOME", "LANG", "LANGUAGE", "LOGNAME", "PATH", "TERM", "TMPDIR", "TZ", "USER"),
    *("CONDA_PREFIX", "VIRTUAL_ENV", "XDG_CACHE_HOME"),
)
_PREFIXES = (
    *("IRBENCH_", "LC_", "LD_", "PYTHON", "GLIBC_", "MALLOC_", "JEMALLOC_", "TCMALLOC_"),
    *("OMP_", "GOMP_", "KMP_", "MKL_", "OPENBLAS_", "BLIS_", "VECLIB_", "NUMEXPR_", "TBB_", "DNNL_", "ONEDNN_"),
    *("ARM_COMPUTE_", "INTEL_", "ONEAPI_", "SYCL_", "ZE_", "ZES_", "OCL_", "OPENCL_", "VK_"),
    *("CUDA_", "CUDNN_", "CUBLAS_", "CUBLASLT_", "NVIDIA_", "NCCL_", "TRT_", "TENSORRT_"),
    *("AMD_", "GPU_", "ROCM_", "ROCR_", "ROCBLAS_", "HIP_", "HIPBLAS_", "HIPBLASLT_", "HSA_", "MIOPEN_", "RCCL_"),
    *("MIGRAPHX_", "TENSILE_", "XLNX_", "XRT_", "QNN_", "ASCEND_", "ACL_", "HCCL_", "NEURON_", "TPU_"),
    *("TORCH_", "PYTORCH_", "JAX_", "TVM_", "IREE_", "MLIR_", "LLVM_"),
)
"""Of Python, libraries of the system, and those that several runtimes rest on; a backend declares its own."""
_TERRAFORM = ("TF_VAR_", "TF_CLI_", "TF_API_")
"""A prefix that it shares with TensorFlow; they hold what a user gives it, secrets among that."""
_SECRET = re.compile(
    r"SECRET|PASSW|PASSPHRASE|CREDENTIAL|(?:TOKEN|AUTH|KEY)FILE|(?:TOKEN|KEY|PWD|OAUTH)S?\d*(?:_|$)"
    r"|(?:^|_)(?:AUTH|AUTHENTICATION|AUTHORIZATION|BEARER|COOKIE|CRED|PASS|PAT)S?\d*(?:_|$)"
)
"""In names of secrets: anywhere, at the end of a word, or as a word, as far as other names have them too."""


def shown_variables(environment: Mapping[str, str], prefixes: Sequence[str] = ()) -> dict[str, str]:
    """Return the variables that a runtime or a library may need, of all that there are.

    Args:
        environment: All variables.
        prefixes: How the names of those begin that runtimes read, besides common ones.
    """
    beginnings = (*_PREFIXES, *prefixes)
    read = {name: value for name, value in environment.items() if name in _NAMES or name.startswith(beginnings)}
    return {name: value for name, value in read.items() if not _is_secret(name)}


def _is_secret(name: str) -> bool:
    return name.startswith(_TERRAFORM) or _SECRET.search(name.upper()) is not None


_OURS = ("PYTHONPATH", "PYTHONHOME")
"""Variables that would make another interpreter search our folders."""
_START = "import sys; sys.path.insert(0, sys.argv.pop(1)); from irbench.worker.__main__ import main; main()"
_GROUPS = (registry.BACKENDS, registry.REFERENCES)


def interpreter_command(python: str | None) -> list[str]:
    """Return how a worker is started, up to its own arguments.

    Args:
        python: The interpreter; ``None`` for the one that runs this.
    """
    # -P: what lies in the folder irbench is called in, beside a model perhaps, must not run
    if python is None:
        return [sys.executable, "-P", "-m", "irbench.worker"]
    return [python, "-P", "-c", _START, str(source_folder())]


def interpreter_environment(python: str | None) -> dict[str, str]:
    """Return our environment variables, for another interpreter without those that would lead it to our packages.

    Nothing of the current folder is searched for programs or modules: see :mod:`irbench.system.programs`.
    """
    return clean_environment(() if python is None else _OURS)


@cache
def source_folder() -> Path:
    """Return a folder from which another interpreter imports irbench and the backends, gone when this process ends."""
    scratch = ExitStack()
    folder = scratch.enter_context(scratch_folder()) / "source"
    atexit.register(scratch.close)
    folder.mkdir()
    for name in sorted({"irbench", *(value.partition(":")[0].partition(".")[0] for _, _, value in _plugins())}):
        _link(name, folder)
    _write_metadata(folder / f"irbench-{metadata.version('irbench')}.dist-info")
    return folder


def _plugins() -> Iterator[tuple[str, str, str]]:
    """Yield group, name and object of each backend and reference."""
    for group in _GROUPS:
        for name in registry.names(group):
            yield group, name, registry.entry_point(group, name).value


def _link(name: str, folder: Path) -> None:
    """Put a link to a module or package into a folder, unless it is nowhere: loading its plugin then says so."""
    spec = importlib.util.find_spec(name)
    if spec is None:
        return
    if spec.submodule_search_locations:
        (folder / name).symlink_to(Path(next(iter(spec.submodule_search_locations))).absolute())
    elif spec.origin is not None and spec.has_location:
        path = Path(spec.origin).absolute()
        (folder / path.name).symlink_to(path)


def _write_metadata(folder: Path) -> None:
    """Write what makes the plugins known, as if irbench were installed where the links are."""
    folder.mkdir()
    version, requirements = metadata.version("irbench"), metadata.requires("irbench") or ()
    lines = ["Metadata-Version: 2.1", "Name: irbench", f"Version: {version}"]
    lines += [f"Requires-Dist: {requirement}" for requirement in requirements]
    (folder / "METADATA").write_text("\n".join(lines) + "\n", encoding="utf-8")
    (folder / "entry_points.txt").write_text(_entry_points(), encoding="utf-8")


def _entry_points() -> str:
    groups: Mapping[str, list[str]] = {group: [f"[{group}]"] for group in _GROUPS}
    for group, name, value in _plugins():
        groups[group].append(f"{name} = {value}")
    return "\n\n".join("\n".join(lines) for lines in groups.values()) + "\n"
