"""Which of the environment variables a worker is shown that runs beside files from elsewhere: no secrets."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

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
    """Return the variables that a runtime or a library may need, of all that there are."""
    beginnings = (*_PREFIXES, *prefixes)
    read = {name: value for name, value in environment.items() if name in _NAMES or name.startswith(beginnings)}
    return {name: value for name, value in read.items() if not _is_secret(name)}


def _is_secret(name: str) -> bool:
    return name.startswith(_TERRAFORM) or _SECRET.search(name.upper()) is not None
