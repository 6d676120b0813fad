"""A backend whose runtime exists in versions of scripted behaviour.

The runtime is metadata alone: the summary of ``irbench-fake-runtime`` holds the options of the scripted backend.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from importlib import metadata

from fake_backend import FakeBackend
from fake_environments import RUNTIME

from irbench.spec import Artifact, Load
from irbench.spi import Backend, Description, Phases, Session


class VersionedBackend(FakeBackend):
    """Does what the installed version's script says."""

    def describe(self) -> Description:
        try:
            found = metadata.version(RUNTIME)
        except metadata.PackageNotFoundError:
            found = None
        return replace(super().describe(), distribution=RUNTIME, version=found)

    def compile(self, artifact: Artifact, load: Load, device: str, phases: Phases) -> Session:
        script: Mapping[str, str] = json.loads(metadata.metadata(RUNTIME)["Summary"])
        return super().compile(artifact, replace(load, options={**script, **load.options}), device, phases)


versioned: Backend = VersionedBackend("fake-versioned")
