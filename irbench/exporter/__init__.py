"""Models to bundles: decides what is to be made, has workers make and check it, and puts it in its place."""

from irbench.exporter.build import export, export_problems, matching, validate
from irbench.exporter.foreign import from_onnx_file, name_of_file
from irbench.exporter.options import ExportOptions

__all__ = ["ExportOptions", "export", "export_problems", "from_onnx_file", "matching", "name_of_file", "validate"]
