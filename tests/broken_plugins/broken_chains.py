"""Models for broken exporters; one differs from call to call."""

import numpy as np
from chains import Chain


def unlike():
    return Chain(np.eye(4))


def greedy():
    return Chain(np.eye(4))


def misfit():
    return Chain(np.eye(4))


def batchless():
    return Chain(np.eye(4))


def hollow():
    return Chain(np.eye(4))


def unseeded():
    return Chain(np.random.default_rng().normal(size=(4, 4)))
