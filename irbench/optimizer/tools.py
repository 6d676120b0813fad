"""Check that the packages an optimisation needs are installed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from importlib import metadata

from irbench import registry
from irbench.errors import ExitCode, IrbenchError
from irbench.optimizer.recipe import Recipe
from irbench.spi import Description, install_command

_DISTRIBUTIONS = ("irbench", "onnx", "onnx-ir", "onnxscript")


@dataclass(frozen=True)
class Tools:
    """What a recipe is carried out with.

    Attributes:
        reference: The backend that answers for the graph before and after each pass.
        quantizer: The quantizer, where the recipe asks for int8.
    """

    versions: Mapping[str, str]
    reference: str
    quantizer: str | None = None


def find_tools(asked: Recipe) -> Tools:
    """Return what a recipe is carried out with."""
    try:
        versions = {name: metadata.version(name) for name in _DISTRIBUTIONS}
    except metadata.PackageNotFoundError as error:
        install = install_command("onnxscript", "onnx-ir")
        raise _not_installed("Optimising", error.name or "a tool", install) from error
    reference = registry.references_in_order()[0]
    quantizer = _quantizer() if asked.conversion is not None and asked.conversion.precision == "int8" else None
    described = [registry.describe(registry.REFERENCES, reference)]
    described += [registry.describe(registry.QUANTIZERS, quantizer)] if quantizer is not None else []
    versions |= {item.distribution: item.version for item in described if item.version is not None}
    return Tools(versions, reference, quantizer)


def require_operators(asked: Recipe, reference: str) -> None:
    """Refuse passes that write a vendor's operators which the reference cannot run."""
    readable = registry.describe(registry.REFERENCES, reference).domains
    for graph_pass in map(registry.graph_pass, asked.passes):
        if graph_pass.vendor is not None and graph_pass.vendor not in readable:
            raise _unreadable(graph_pass.name, graph_pass.vendor)


def _quantizer() -> str:
    """Return the first quantizer whose tool is installed."""
    described: dict[str, Description] = registry.describe_all(registry.QUANTIZERS)
    for name, description in described.items():
        if description.version is not None:
            return name
    first = next(iter(described.values()), None)
    if first is not None:
        raise _not_installed("Converting to int8", first.distribution, first.install)
    raise IrbenchError(
        "Converting to int8 needs a quantizer, and none is installed.",
        hint="Install a package that provides one, or leave --precision out.",
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
