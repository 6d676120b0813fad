"""Python environments with other versions of a runtime: built by uv and kept, or brought by the user."""

from irbench.environments.building import build
from irbench.environments.candidates import Candidate, as_environment, candidate, labelled, shared_backend
from irbench.environments.sources import (
    INSTALLED,
    Release,
    Source,
    exact_release,
    normalised,
    parse_source,
    releases_between,
)
from irbench.environments.uv import Unsolvable

__all__ = [
    "INSTALLED",
    "Candidate",
    "Release",
    "Source",
    "Unsolvable",
    "as_environment",
    "build",
    "candidate",
    "exact_release",
    "labelled",
    "normalised",
    "parse_source",
    "releases_between",
    "shared_backend",
]
