"""What decides the result of an optimisation, in a digest."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict
from functools import cache
from importlib import metadata
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import irbench
from irbench import registry
from irbench.errors import ExitCode, IrbenchError
from irbench.optimizer.recipe import Recipe
from irbench.spec import Bundle

__all__ = ["key_of", "versions_of_tools"]

_FORMAT = 4
_TOOLS = ("irbench", "onnx", "onnx-ir", "onnxscript")
_CODE = ("onnx/**/*.py", "optimizer/**/*.py", "feeds.py", "verify.py", "worker/reference.py")


def key_of(source: str, bundle: Bundle, sizes: Mapping[str, int], asked: Recipe, versions: Mapping[str, str]) -> str:
    """Return a digest of everything that decides what comes out of an optimisation, and what is said of it.

    Args:
        source: Digest of the graph and its weights.
        bundle: Its inputs, their seed and its default sizes are what a graph is calibrated, proven and judged on.
        sizes: The free dimensions that are bound first.
        asked: What is done.
        versions: Of the tools.

    Raises:
        IrbenchError: There is no such pass.
    """
    described: dict[str, Any] = {
        "format": _FORMAT,
        "source": source,
        "sizes": dict(sizes),
        "recipe": asdict(asked),
        "passes": [_origin(name) for name in asked.passes],
        "inputs": [asdict(spec) for spec in bundle.inputs],
        "defaults": dict(bundle.defaults),
        "seed": bundle.seed,
        "classifier": bundle.classifier,
        "versions": dict(versions),
        "reference": registry.references_in_order()[0],
        "runtimes": _versions_of_runtimes(),
        "code": _digest_of_code(),
    }
    return hashlib.sha256(json.dumps(described, sort_keys=True).encode()).hexdigest()


def versions_of_tools() -> dict[str, str]:
    """Return the versions of the distributions that optimising needs; several provide ONNX Runtime.

    Raises:
        IrbenchError: One of them is not installed.
    """
    runtime = registry.reference("ort").describe()
    try:
        found = {name: metadata.version(name) for name in _TOOLS}
    except metadata.PackageNotFoundError as error:
        raise _missing(error.name, "optimize" if runtime.version else "optimize,ort") from error
    if runtime.version is None:
        raise _missing(runtime.distribution, "optimize,ort")
    return {**found, runtime.distribution: runtime.version}


def _versions_of_runtimes() -> dict[str, str | None]:
    """Return the versions of the backends that may answer for a graph which the reference has no kernels for."""
    installed = {name: registry.backend(name) for name in registry.installed_backends()}
    return {name: backend.describe().version for name, backend in installed.items() if "onnx" in backend.consumes}


def _missing(distribution: str, extras: str) -> IrbenchError:
    return IrbenchError(
        f"Optimising needs {distribution}, which is not installed.",
        hint=f"Install it with: pip install 'irbench[{extras}]'",
        exit_code=ExitCode.NOT_INSTALLED,
    )


def _origin(name: str) -> tuple[str, ...]:
    """Return distribution, version and digest of the module of a pass, without importing it."""
    point = registry.entry_point(registry.PASSES, name)
    distribution = (point.dist.name, point.dist.version) if point.dist is not None else ()
    return (point.value, *distribution, _digest_of_module(point.module))


def _digest_of_module(name: str) -> str:
    try:
        found = find_spec(name)
    except ImportError:  # what cannot be imported is told where the pass is loaded
        return ""
    path = Path(found.origin) if found is not None and found.origin else None
    return hashlib.sha256(path.read_bytes()).hexdigest() if path is not None and path.is_file() else ""


@cache
def _digest_of_code() -> str:
    """Return a digest of irbench's own code that makes and judges a graph, which changes while its version does not."""
    root = Path(irbench.__file__).parent
    digest = hashlib.sha256()
    for path in sorted(path for pattern in _CODE for path in root.glob(pattern)):
        digest.update(f"{path.relative_to(root)}\0".encode() + hashlib.sha256(path.read_bytes()).digest())
    return digest.hexdigest()
