"""The contract tests of backends, references and exporters, as pytest classes for the authors of such parts.

Three lines in a test file hold a part to its contract::

    from irbench.testing import BackendContract

    class TestMine(BackendContract):
        backend = "mine"

A class is imported when it is first used: workers, in which the backends run, import this package too, and need no
pytest.
"""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from irbench.spi import extra_command

if find_spec("pytest") is None:
    raise ImportError(f"irbench.testing needs pytest, which is not installed. Install it: {extra_command('testing')}")

if TYPE_CHECKING:
    from irbench.testing.backend_contract import BackendContract
    from irbench.testing.exporter_contract import ExporterContract
    from irbench.testing.profile_contract import ProfileContract
    from irbench.testing.reference_contract import ReferenceContract

__all__ = ["BackendContract", "ExporterContract", "ProfileContract", "ReferenceContract"]

_MODULES = {
    "BackendContract": "irbench.testing.backend_contract",
    "ExporterContract": "irbench.testing.exporter_contract",
    "ProfileContract": "irbench.testing.profile_contract",
    "ReferenceContract": "irbench.testing.reference_contract",
}


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    import pytest

    # pytest shows the values of a failed assertion only for modules that it knows of before they are imported
    pytest.register_assert_rewrite("irbench.testing.runtime_contract", *_MODULES.values())
    return getattr(import_module(_MODULES[name]), name)
