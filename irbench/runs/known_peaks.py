"""What is known of the attainable peaks of this machine."""

from __future__ import annotations

from irbench.across_runs.differences import fingerprint
from irbench.roofline import MachinePeaks
from irbench.store import bundles
from irbench.store.kept_peaks import kept_peaks
from irbench.system import host


def known_peaks() -> MachinePeaks | None:
    """Return what was measured on this machine last; ``None`` where nothing was."""
    machine = fingerprint(host.describe())
    return next(filter(None, (kept_peaks(home, machine) for home in bundles.homes())), None)
