"""Conversions of an ONNX graph to another precision, one per file.

A conversion differs from a pass of :mod:`irbench.optimizer.passes` in what it may do to the answers: it changes them
by more than rounding in fp32, so that what it costs is measured instead of refused. Like a pass it keeps the
signature: inputs and outputs stay fp32.
"""
