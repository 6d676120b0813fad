"""Rewriting ONNX: binding shapes in a file, and editing a graph whose weights are detached from it.

Exporters use these modules too. The passes of the optimiser are not here: they are entry points of the group
``irbench.passes`` and work on an ``onnx_ir.Model``.
"""
