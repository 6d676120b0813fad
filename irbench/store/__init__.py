"""Where runs are kept: raw samples once, written safely, and every number derived from them."""

from irbench.store.document import decode_document, encode_document
from irbench.store.entries import RunEntry
from irbench.store.launches import decode_launch, encode_launch
from irbench.store.runs import Listing, Store, default_root
from irbench.store.writer import RunWriter

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
