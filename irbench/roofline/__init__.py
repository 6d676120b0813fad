"""What a machine can attain at most, and how close a computation comes: peaks, rooflines, shares.

The model is that of Williams, Waterman and Patterson, "Roofline: An Insightful Visual Performance Model for Multicore
Architectures", Communications of the ACM 52 (2009).
"""

from irbench.measure.hardware_probes import Access
from irbench.roofline.peaks import MEMORY, Bandwidth, BandwidthSamples, ComputePeak, MachinePeaks
from irbench.roofline.roof import best_bandwidth, ridge_point, roof
from irbench.spec import Roof

__all__ = [
    "MEMORY",
    "Access",
    "Bandwidth",
    "BandwidthSamples",
    "ComputePeak",
    "MachinePeaks",
    "Roof",
    "best_bandwidth",
    "ridge_point",
    "roof",
]
