"""Better graphs out of a model's graph: which passes run, a worker that proves each, and where results are kept."""

from irbench.optimizer.agreement import caution
from irbench.optimizer.build import Optimized, optimize
from irbench.optimizer.lineage import Lineage, kept_for, read_lineage
from irbench.optimizer.recipe import CONVERSIONS, LEVELS, UNOPTIMIZED, Conversion, Recipe, recipe, variant

__all__ = [
    "CONVERSIONS",
    "LEVELS",
    "UNOPTIMIZED",
    "Conversion",
    "Lineage",
    "Optimized",
    "Recipe",
    "caution",
    "kept_for",
    "optimize",
    "read_lineage",
    "recipe",
    "variant",
]
