"""Models to bundles: decides what is to be made, has workers make and check it, and puts it in its place."""

from irbench.export.build import export, matching, validate
from irbench.export.foreign import from_onnx_file, name_of_file
from irbench.export.options import ExportOptions

__all__ = ["ExportOptions", "export", "from_onnx_file", "matching", "name_of_file", "validate"]
