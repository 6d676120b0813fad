"""Which environment variables a worker sees that is not to be trusted: those of runtimes, and no secrets."""

from __future__ import annotations

import re
from collections.abc import Mapping

__all__ = ["shown_variables"]

_NAMES = (
    *("HOME", "LANG", "LANGUAGE", "LOGNAME", "PATH", "TERM", "TMPDIR", "TZ", "USER"),
    *("CONDA_PREFIX", "VIRTUAL_ENV", "XDG_CACHE_HOME"),
)
_PREFIXES = (
    *("IRBENCH_", "LC_", "LD_", "PYTHON", "GLIBC_", "MALLOC_", "JEMALLOC_", "TCMALLOC_"),
    *("OMP_", "GOMP_", "KMP_", "MKL_", "OPENBLAS_", "BLIS_", "VECLIB_", "NUMEXPR_", "TBB_", "DNNL_", "ONEDNN_"),
    *("TF_", "TENSORFLOW_", "XLA_", "KERAS_", "ONNX", "ORT_", "OV_", "OPENVINO_", "INTEL_", "ONEAPI_", "SYCL_"),
    *("CUDA_", "CUDNN_", "CUBLAS_", "NVIDIA_", "NCCL_", "TRT_", "ROCM_", "ROCR_", "HIP_", "HSA_", "MIOPEN_"),
    *("AMD_", "GPU_", "ZE_", "ZES_", "OCL_", "OPENCL_", "VK_"),
)
"""Of Python, libraries of the system, and runtimes."""
_SECRET = re.compile(r"TOKEN|SECRET|PASSW|CREDENTIAL|AUTH|_KEY$|_PAT$|^TF_(VAR|CLI|API)_")
"""Names of secrets among them, such as ``NVIDIA_API_KEY``, and Terraform's, which share a prefix with TensorFlow's."""


def shown_variables(environment: Mapping[str, str]) -> dict[str, str]:
    """Return the variables that a runtime or a library may need, of all that there are."""
    return {name: value for name, value in environment.items() if _is_shown(name)}


def _is_shown(name: str) -> bool:
    return (name in _NAMES or name.startswith(_PREFIXES)) and not _SECRET.search(name)
