"""What models of the zoo are built with, besides what the exporter needs."""

from __future__ import annotations

from irbench import registry
from irbench.errors import ExitCode, IrbenchError
from irbench.exporter.identity import versions
from irbench.exporter.source import Source
from irbench.spi import install_command


def missing_distributions(model: str) -> tuple[str, ...]:
    """Return the distributions that a model of the zoo is built with and that are not installed; loads no framework."""
    return tuple(name for name, version in versions(registry.model(model).requires).items() if version is None)


def require_distributions(source: Source) -> None:
    """Refuse a model of the zoo that is built with something that is not installed."""
    missing = missing_distributions(source.text) if source.is_zoo else ()
    if missing:
        raise IrbenchError(
            f"{source.text} is built with {', '.join(missing)}, which is not installed.",
            hint=f"Install it: {install_command(*missing)}",
            exit_code=ExitCode.NOT_INSTALLED,
        )
