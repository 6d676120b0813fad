"""Optimising ONNX graphs: passes and conversions that run in a worker, each checked, and the results that are kept.

This module is the whole of what the rest of the harness may import; import-linter sees to it. A recipe goes in
(:func:`recipe`, :func:`variant`), an artifact with its lineage comes out (:func:`optimize`).
"""

from irbench.optimizer.agreement import LEAST_AGREEMENT, disagreement
from irbench.optimizer.calibration_samples import CheckInputs, drawn_from
from irbench.optimizer.job import copy_model
from irbench.optimizer.lineage import Lineage, calibration_note, kept_for, read_lineage
from irbench.optimizer.optimized_bundles import Optimized, optimize
from irbench.optimizer.recipe import (
    CONVERSIONS,
    LEVELS,
    UNOPTIMIZED,
    Conversion,
    Recipe,
    build_recipe,
    command_options,
    variant,
)
from irbench.optimizer.step_check import OriginalRefused

__all__ = [
    "CONVERSIONS", "LEAST_AGREEMENT", "LEVELS", "UNOPTIMIZED", "CheckInputs", "Conversion", "Lineage",
    "Optimized", "OriginalRefused", "Recipe", "build_recipe", "calibration_note", "command_options",
    "copy_model", "disagreement", "drawn_from", "kept_for", "optimize", "read_lineage", "variant",
]  # fmt: skip
