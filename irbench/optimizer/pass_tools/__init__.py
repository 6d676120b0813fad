"""What the optimiser's passes share: sizes of dynamic dimensions, shapes, layouts of tensors, and editing a graph."""
