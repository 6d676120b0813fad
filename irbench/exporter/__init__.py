"""Models to bundles: decides what is to be made, has workers make and check it, and puts it in its place."""

from irbench.exporter.build import export, is_exportable, validate
from irbench.exporter.foreign import from_onnx_file, name_of_file
from irbench.exporter.freshness import Notify, bundle_facts
from irbench.exporter.identity import missing_distributions
from irbench.exporter.refresh import find_outdated, is_made_from, made_from, refreshed
from irbench.exporter.source import Source, require_possible

__all__ = [
    "Notify",
    "Source",
    "bundle_facts",
    "export",
    "find_outdated",
    "from_onnx_file",
    "is_exportable",
    "is_made_from",
    "made_from",
    "missing_distributions",
    "name_of_file",
    "refreshed",
    "require_possible",
    "validate",
]
