"""Backends whose calls last exactly as long as one asks, by the real clock: what irbench's numbers are checked against.

``known-a`` to ``known-e`` are one implementation under five names, so that one call of irbench compares their speeds:

    irbench run model.onnx --backends known-a,known-b --set known-a.call_us=1000 --set known-b.call_us=1050

Their options are the attributes of :class:`irbench_known_speed.script.Script`.
"""

from irbench.spi import Backend
from irbench_known_speed.backend import KnownSpeed

__all__ = ["fifth", "first", "fourth", "second", "third"]

first: Backend = KnownSpeed("known-a")
second: Backend = KnownSpeed("known-b")
third: Backend = KnownSpeed("known-c")
fourth: Backend = KnownSpeed("known-d")
fifth: Backend = KnownSpeed("known-e")
