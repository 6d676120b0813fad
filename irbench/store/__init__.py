"""Where runs are kept: raw samples once, written safely, and every number derived from them."""

from irbench.store.launches import decode_launch, encode_launch
from irbench.store.runs import RunEntry, Store, default_root
from irbench.store.writer import RunWriter

__all__ = ["RunEntry", "RunWriter", "Store", "decode_launch", "default_root", "encode_launch"]
