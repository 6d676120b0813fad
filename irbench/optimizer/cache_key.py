"""The cache key of an optimisation, a digest of everything that affects its result, and the packages it needs."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from functools import cache
from importlib import metadata
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import irbench
from irbench.core import registry
from irbench.errors import ExitCode, IrbenchError
from irbench.optimizer.calibration_samples import GENERATED, CheckInputs
from irbench.optimizer.recipe import Recipe
from irbench.spec import Bundle
from irbench.spi import Description, install_command
from irbench.system.host import int8_weight_bits

_DISTRIBUTIONS = ("onnx", "onnx-ir", "onnxscript")


@dataclass(frozen=True)
class Tools:
    """What a recipe is carried out with."""

    versions: Mapping[str, str]
    reference: str
    quantizer: str | None = None


def find_tools(recipe: Recipe) -> Tools:
    """Return what a recipe is carried out with."""
    try:
        versions = {"irbench": irbench.__version__, **{name: metadata.version(name) for name in _DISTRIBUTIONS}}
    except metadata.PackageNotFoundError as error:
        install = install_command("onnxscript", "onnx-ir")
        raise _not_installed("Optimising", error.name or "a tool", install) from error
    reference = registry.references_in_order()[0]
    quantizer = _quantizer() if recipe.conversion is not None and recipe.conversion.precision == "int8" else None
    described = [registry.describe(registry.REFERENCES, reference)]
    described += [registry.describe(registry.QUANTIZERS, quantizer)] if quantizer is not None else []
    versions |= {item.distribution: item.version for item in described if item.version is not None}
    return Tools(versions, reference, quantizer)


def require_operators(recipe: Recipe, reference: str) -> None:
    """Refuse passes that write a vendor's operators which the reference cannot run."""
    readable = registry.describe(registry.REFERENCES, reference).domains
    for graph_pass in map(registry.graph_pass, recipe.passes):
        if graph_pass.vendor is not None and graph_pass.vendor not in readable:
            raise _unreadable(graph_pass.name, graph_pass.vendor)


def _quantizer() -> str:
    described: dict[str, Description] = registry.describe_all(registry.QUANTIZERS)
    for name, description in described.items():
        if description.version is not None:
            return name
    first = next(iter(described.values()), None)
    if first is not None:
        raise _not_installed("Converting to int8", first.distribution, first.install)
    raise IrbenchError(
        "Converting to int8 needs a quantizer, and none is installed.",
        hint="Install a package that provides one, or leave `--precision` out.",
        exit_code=ExitCode.NOT_INSTALLED,
    )


def _unreadable(name: str, vendor: str) -> IrbenchError:
    references: Iterable[Description] = registry.describe_all(registry.REFERENCES).values()
    for description in references:
        if vendor in description.domains:
            return _not_installed(f"The pass {name}", description.distribution, description.install)
    return IrbenchError(
        f"The pass {name} writes operators of {vendor}, which no installed reference can run.",
        hint="Leave it out, or choose another level.",
    )


def _not_installed(what: str, distribution: str, install: str) -> IrbenchError:
    return IrbenchError(
        f"{what} needs {distribution}, which is not installed.",
        hint=f"Install it with: {install}",
        exit_code=ExitCode.NOT_INSTALLED,
    )


_FORMAT = 6
_CODE = (
    *("onnx/**/*.py", "optimizer/**/*.py"),
    *(
        "core/feeds.py",
        "core/output_check.py",
        "worker/inference.py",
        "worker/feed_turns.py",
        "worker/reference_answers.py",
    ),
)


def key_of(
    source: str, bundle: Bundle, sizes: Mapping[str, int], recipe: Recipe, tools: Tools, inputs: CheckInputs = GENERATED
) -> str:
    """Return a digest of everything that decides what comes out of an optimisation, and what is said of it."""
    described: dict[str, Any] = {
        "format": _FORMAT,
        "source": source,
        "sizes": dict(sizes),
        "recipe": asdict(recipe),
        "passes": [_origin(registry.PASSES, name) for name in recipe.passes],
        "quantizer": _origin(registry.QUANTIZERS, tools.quantizer) if tools.quantizer is not None else None,
        "inputs": [asdict(spec) for spec in bundle.inputs],
        "defaults": dict(bundle.defaults),
        "seed": bundle.seed,
        "classifier": bundle.classifier,
        "class_axes": bundle.class_axes,
        "weight_bits": int8_weight_bits() if tools.quantizer is not None else None,
        "versions": dict(tools.versions),
        "reference": tools.reference,
        "values": {name: list(values) for name, values in inputs.feeding.values.items()},
        "data": dict(inputs.feeding.sha256),
        "check_sizes": dict(inputs.sizes),
        "drawn": inputs.feeding.drawn,
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
    try:
        spec = find_spec(name)
    except ImportError:  # the error is shown where the plugin is loaded
        return ""
    if spec is None:
        return ""
    folders = [Path(folder) for folder in spec.submodule_search_locations or ()]
    paths = [path for folder in folders for path in folder.rglob("*.py")] or [Path(spec.origin or "")]
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
