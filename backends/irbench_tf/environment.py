"""Environment variables that must be set before TensorFlow is imported."""

from __future__ import annotations

import os
from collections.abc import Mapping

from irbench.spec import Load
from irbench_tf.options import TensorFlowOptions
from irbench_tf.precision import NARROW_ENVIRONMENT


def environment_for(load: Load, options: TensorFlowOptions, device: str) -> Mapping[str, str]:
    """Return the variables for one load.

    CUDA is hidden from a CPU session, and no library may trade precision for speed behind ``fp32``.
    """
    variables = {
        "ONEDNN_DEFAULT_FPMATH_MODE": "STRICT",
        "TF_SET_ONEDNN_FPMATH_MODE": "",
        "KERAS_HOME": os.devnull,  # no settings of the user's: a graph needs none, and a confined process reads none
    }
    if "TF_CPP_MIN_LOG_LEVEL" not in os.environ:
        variables["TF_CPP_MIN_LOG_LEVEL"] = "1"
    if device == "cpu":
        variables["CUDA_VISIBLE_DEVICES"] = "-1"
    elif load.precision != "native":
        variables["NVIDIA_TF32_OVERRIDE"] = "0"
    if load.precision in ("bf16", "fp16"):
        variables.update(NARROW_ENVIRONMENT)
    if options.onednn is not None:
        variables["TF_ENABLE_ONEDNN_OPTS"] = str(int(options.onednn))
    if options.gpu_thread_mode is not None:
        variables["TF_GPU_THREAD_MODE"] = options.gpu_thread_mode
    return variables


def apply_environment(variables: Mapping[str, str]) -> None:
    """Set the variables in this process."""
    os.environ.update(variables)
