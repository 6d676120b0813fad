"""Exporters that break their contract, each in one way, made of the one in docs/extending.md."""

import numpy as np
from irbench_chains import ChainsExporter


class Unlike(ChainsExporter):
    """Stores other outputs than the framework gives."""

    name = "unlike"

    def accepts(self, source):
        return "certain" if source.endswith(":unlike") else "no"

    def export(self, request, say, /):
        bundle = super().export(request, say)
        path = request.directory / "reference.npz"
        np.savez(path, np.load(path)["arr_0"] + 1)
        return bundle


class Unseeded(ChainsExporter):
    """Draws weights that differ from export to export."""

    name = "unseeded"

    def accepts(self, source):
        return "certain" if source.endswith(":unseeded") else "no"


class Greedy(ChainsExporter):
    """Imports the framework, accepts everything, and owns everything."""

    name = "greedy"

    def accepts(self, source):
        import chains  # noqa: F401 - what no exporter may do

        return "certain" if source.endswith(":greedy") else "perhaps"

    def owns(self, model, /):
        return True


unlike, unseeded, greedy = Unlike(), Unseeded(), Greedy()
