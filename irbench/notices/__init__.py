"""What a reader must know beside the figures: warnings, notes and marks, and what is said of bundles.

Each code is one frozen class, with its facts as fields, its words as methods and an example for the documentation:
:mod:`irbench.notices.base` says how one is declared. Its family finds it: ``Warn.known``, ``Note.known`` and
``Mark.known``. ``AnyWarn`` and the like are what fields of documents hold. A new code is a new version of the
document's format.
"""

from irbench.notices.base import Context, RowId
from irbench.notices.bundle_notices import ExportNotice
from irbench.notices.doubts import AnyWarn
from irbench.notices.marks import AnyMark, Mark
from irbench.notices.notes import AnyNote, Note, Reference
from irbench.notices.warnings import Warn

__all__ = ["AnyMark", "AnyNote", "AnyWarn", "Context", "ExportNotice", "Mark", "Note", "Reference", "RowId", "Warn"]
