"""Confining a worker before it imports NumPy: restrictions bind one thread, and NumPy starts others."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path

from irbench.system.confinement import Confinement, confine
from irbench.worker import CONFINEMENT


def confined_environment(allowed: Confinement, folder: Path) -> Mapping[str, str]:
    """Return the environment variables of a worker that confines itself when it starts."""
    try:
        folder.mkdir(mode=0o700)
    except OSError as error:
        from irbench.worker.scratch import no_temporary_folder  # a worker that confines itself imports this module too

        raise no_temporary_folder(error) from error
    settings = {
        "readable": list(map(str, allowed.readable)),
        "writable": [str(folder), *map(str, allowed.writable)],
        "for_runtime": allowed.for_runtime,
    }
    return {CONFINEMENT: json.dumps(settings), "TMPDIR": str(folder)}


def confine_as_asked() -> None:
    """Confine this process as its environment says."""
    settings = json.loads(os.environ[CONFINEMENT])
    readable, writable = (tuple(map(Path, settings[name])) for name in ("readable", "writable"))
    confine(Confinement(readable, writable, settings["for_runtime"]))
