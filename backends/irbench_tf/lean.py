"""TensorFlow without its public API: a quarter of the import time, and nothing of the runtime missing.

``import tensorflow`` spends about three quarters of its time on Python modules that a
frozen graph never needs: Keras, datasets, distribution strategies, the compatibility
APIs. They hang on the package's ``__init__``, which runs before any submodule. Here the
package is put into ``sys.modules`` without running it, so that ``tensorflow.python.*``
can be imported alone; the first access to a public name runs it after all, in the same
module object and on top of the submodules already loaded.
"""

from __future__ import annotations

import sys
from importlib import import_module
from importlib.machinery import ModuleSpec
from importlib.util import find_spec, module_from_spec
from types import ModuleType
from typing import Any

_SESSION = "tensorflow.python.client.session"


class _DeferredPackage(ModuleType):
    """A package whose ``__init__`` runs at the first access to a name it does not have yet."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        self.__class__ = ModuleType  # type: ignore[assignment]
        specification = self.__spec__
        assert specification is not None
        assert specification.loader is not None
        specification.loader.exec_module(self)
        return getattr(self, name)


def installed() -> bool:
    """Whether TensorFlow can be found."""
    return "tensorflow" in sys.modules or find_spec("tensorflow") is not None


def import_lean() -> None:
    """Import what runs a graph: the session and the rewriter's settings."""
    if "tensorflow" not in sys.modules:
        specification = find_spec("tensorflow")
        assert isinstance(specification, ModuleSpec)
        package = module_from_spec(specification)
        package.__class__ = _DeferredPackage
        sys.modules["tensorflow"] = package
    import_module(_SESSION)


def import_full() -> None:
    """Import the whole package, which also loads device plugins."""
    import_module("tensorflow")
    import_module(_SESSION)
