"""What a graph costs, from its shapes alone: multiply-accumulates, operations, parameters and bytes.

Weights are not read. ``docs/cost.md`` states the conventions.

- :mod:`irbench.cost_model.counting` counts at one size of the inputs.
- :mod:`irbench.cost_model.rules` says what each operator computes, and :mod:`irbench.cost_model.counting` what it
  reads and writes.
- :mod:`irbench.cost_model.formulas` finds the polynomials in dynamic dimensions that counts follow.

:func:`irbench.cost` is the function of the Python API, which a package of that name would hide.
"""
