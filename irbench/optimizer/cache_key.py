"""The cache key of an optimisation: a digest of everything that affects its result."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import irbench
from irbench import registry
from irbench.optimizer.recipe import Recipe
from irbench.optimizer.samples import GENERATED, CheckInputs
from irbench.optimizer.tools import Tools
from irbench.spec import Bundle
from irbench.spi import Description
from irbench.system.host import int8_weight_bits

_FORMAT = 6
_CODE = (
    *("onnx/**/*.py", "optimizer/**/*.py"),
    *("feeds.py", "output_check.py", "worker/inference.py", "worker/inputs.py", "worker/reference.py"),
)


def key_of(
    source: str, bundle: Bundle, sizes: Mapping[str, int], asked: Recipe, tools: Tools, given: CheckInputs = GENERATED
) -> str:
    """Return a digest of everything that decides what comes out of an optimisation, and what is said of it.

    Args:
        source: Digest of the graph and its weights.
        bundle: Its inputs, their seed and its default sizes are what a graph is calibrated, checked and judged on.
        sizes: The dynamic dimensions that are bound first.
        asked: What is done.
        tools: What it is done with.
        given: Inputs for checks and calibration.
    """
    described: dict[str, Any] = {
        "format": _FORMAT,
        "source": source,
        "sizes": dict(sizes),
        "recipe": asdict(asked),
        "passes": [_origin(registry.PASSES, name) for name in asked.passes],
        "quantizer": _origin(registry.QUANTIZERS, tools.quantizer) if tools.quantizer is not None else None,
        "inputs": [asdict(spec) for spec in bundle.inputs],
        "defaults": dict(bundle.defaults),
        "seed": bundle.seed,
        "classifier": bundle.classifier,
        "weight_bits": int8_weight_bits() if tools.quantizer is not None else None,
        "versions": dict(tools.versions),
        "reference": tools.reference,
        "values": {name: list(values) for name, values in given.feeding.values.items()},
        "data": dict(given.feeding.sha256),
        "check_sizes": dict(given.sizes),
        "drawn": given.feeding.drawn,
        "runtimes": _versions_of_runtimes(),
        "code": digest_of_code(),
    }
    return hashlib.sha256(json.dumps(described, sort_keys=True).encode()).hexdigest()


def _versions_of_runtimes() -> dict[str, str]:
    """Return the versions of the backends that may answer for a graph which the reference has no kernels for."""
    described: dict[str, Description] = registry.describe_all(registry.BACKENDS)
    installed = {name: item.version for name, item in described.items() if item.version is not None}
    return {name: version for name, version in installed.items() if "onnx" in registry.backend(name).consumes}


def _origin(group: str, name: str) -> tuple[str, ...]:
    """Return distribution, version and digest of the code of a plugin, without importing it."""
    point = registry.entry_point(group, name)
    distribution = (point.dist.name, point.dist.version) if point.dist is not None else ()
    return (point.value, *distribution, _digest_of_module(point.module))


def _digest_of_module(name: str) -> str:
    """Return a digest of a module's file, or of all files of a package; nothing where it is not found."""
    try:
        found = find_spec(name)
    except ImportError:  # the error is shown where the plugin is loaded
        return ""
    if found is None:
        return ""
    folders = [Path(folder) for folder in found.submodule_search_locations or ()]
    paths = [path for folder in folders for path in folder.rglob("*.py")] or [Path(found.origin or "")]
    return _digest_of_files(path for path in sorted(paths) if path.is_file())


@cache
def digest_of_code() -> str:
    """Return a digest of irbench's own code that makes and judges a graph, which changes while its version does not."""
    root = Path(irbench.__file__).parent
    return _digest_of_files(sorted(path for pattern in _CODE for path in root.glob(pattern)))


def _digest_of_files(paths: Iterable[Path]) -> str:
    digest = hashlib.sha256()
    for path in paths:
        digest.update(f"{path.name}\0".encode() + hashlib.sha256(path.read_bytes()).digest())
    return digest.hexdigest()
