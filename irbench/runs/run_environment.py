"""The environment that a document records: the machine, its software, and whether what runs models is confined."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from irbench.core import registry
from irbench.system import host
from irbench.worker.requested_confinement import is_confinement_asked_for


def describe_environment() -> Mapping[str, Any]:
    """Return what a reader of results must know of this machine, its software, and the confinement of workers."""
    return {**host.describe(registry.distributions()), "confined": is_confinement_asked_for()}
