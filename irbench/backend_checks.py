"""Backends, devices and options as users name them, refused with a hint where there is no such thing."""

from __future__ import annotations

from collections.abc import Iterable

from irbench import registry
from irbench.address import BackendAddress
from irbench.errors import ExitCode, IrbenchError
from irbench.spi import Description
from irbench.suggestions import did_you_mean


def parse_backend(text: str) -> BackendAddress:
    """Return the backend and the device that ``name[:device]`` means; without a device it is the CPU.

    Raises:
        IrbenchError: No such backend, or no such device of it.
    """
    address = BackendAddress.parse(text)
    name, device = address
    devices = registry.describe(registry.BACKENDS, name).devices
    if device not in devices and ":" in text:
        known = ", ".join(device if device == "cpu" else str(BackendAddress(name, device)) for device in devices)
        raise IrbenchError(
            f"{name} has no device '{device}'.",
            hint=f"{did_you_mean(device, devices)}Its devices: {known}; {name} without a device is the CPU.",
        )
    return address


def require_installed(name: str) -> Description:
    """Return a backend's description, provided that its runtime is installed.

    Raises:
        IrbenchError: It is not; the exit code says so and the hint is the command that installs it.
    """
    description = registry.describe(registry.BACKENDS, name)
    if description.version is None:
        raise IrbenchError(
            f"{name} needs {description.distribution}, which is not installed.",
            hint=f"Install it with: {description.install}",
            exit_code=ExitCode.NOT_INSTALLED,
        )
    return description


def require_options(name: str, keys: Iterable[str]) -> None:
    """Refuse what a backend says that it cannot be given; one that declares no keys judges them when it compiles.

    Args:
        name: The backend.
        keys: Of the properties to give it.

    Raises:
        IrbenchError: It knows no such key, or irbench sets that property itself.
    """
    description = registry.describe(registry.BACKENDS, name)
    for key in keys:
        if key in description.reserved:
            raise IrbenchError(f"{name}.{key} is set by irbench itself.", hint=f"Use {description.reserved[key]}.")
        if description.options is not None and key not in description.options:
            raise IrbenchError(
                f"{name} has no option '{key}'.",
                hint=f"{did_you_mean(key, description.options)}Known: {', '.join(description.options) or 'none'}.",
            )
