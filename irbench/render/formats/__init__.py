"""Formats that runs are exported in: one table of rows behind all of them, and a writer for each.

:mod:`irbench.render.formats.export_formats` lists them; each writer is imported when it is used.
"""
