"""Exporters that break their contract, each in one way, made of the one in docs/extending.md."""

from dataclasses import replace

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


class Misfit(ChainsExporter):
    """Says of the model's input what is not so of the graph's."""

    name = "misfit"

    def accepts(self, source):
        return "certain" if source.endswith(":misfit") else "no"

    def export(self, request, say, /):
        bundle = super().export(request, say)
        (spec,) = bundle.inputs
        return replace(bundle, inputs=(replace(spec, tensor=replace(spec.tensor, dtype="float64")),))


class Batchless(ChainsExporter):
    """Writes a graph for one sample."""

    name = "batchless"

    def accepts(self, source):
        return "certain" if source.endswith(":batchless") else "no"

    def export(self, request, say, /):
        return super().export(replace(request, batch=1), say)


class Hollow(ChainsExporter):
    """Names no distribution."""

    name = "hollow"

    def describe(self):
        return replace(super().describe(), distributions=())

    def accepts(self, source):
        return "certain" if source.endswith(":hollow") else "no"


unlike, unseeded, greedy, misfit, batchless, hollow = Unlike(), Unseeded(), Greedy(), Misfit(), Batchless(), Hollow()
