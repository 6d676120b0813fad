"""irbench's optimiser beside others, on PyTorch models that both of PyTorch's exporters wrote."""
