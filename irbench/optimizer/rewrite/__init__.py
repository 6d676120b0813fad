"""What the optimiser's passes share: sizes of free dimensions, shapes, layouts of tensors, and editing a graph."""
