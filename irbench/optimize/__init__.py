"""Better graphs out of a model's graph: which passes run, a worker that proves each, and where results are kept."""

from irbench.optimize.build import Optimized, optimize
from irbench.optimize.recipe import LEVELS, UNOPTIMIZED, Recipe, recipe

__all__ = ["LEVELS", "UNOPTIMIZED", "Optimized", "Recipe", "optimize", "recipe"]
