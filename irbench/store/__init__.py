"""Where runs are kept: raw samples once, written safely, and every number derived from them.

What is named here is imported when it is first used: listing thousands of runs needs no arrays.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from irbench.store.document import decode_document, encode_document
    from irbench.store.entries import RunEntry
    from irbench.store.folders import default_root
    from irbench.store.launches import decode_launch, encode_launch
    from irbench.store.listing import Listing
    from irbench.store.runs import RunWriter, Store

__all__ = [
    "Listing",
    "RunEntry",
    "RunWriter",
    "Store",
    "decode_document",
    "decode_launch",
    "default_root",
    "encode_document",
    "encode_launch",
]

_MODULES = {
    "Listing": "listing",
    "RunEntry": "entries",
    "RunWriter": "runs",
    "Store": "runs",
    "decode_document": "document",
    "decode_launch": "launches",
    "default_root": "folders",
    "encode_document": "document",
    "encode_launch": "launches",
}


def __getattr__(name: str) -> Any:
    """Import what is asked for."""
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_MODULES[name]}"), name)
