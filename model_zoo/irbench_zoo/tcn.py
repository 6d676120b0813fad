"""Temporal convolutions, as Bai et al. compared them with recurrent networks on digits read pixel by pixel.

*An Empirical Evaluation of Generic Convolutional and Recurrent Networks for Sequence Modeling*, 2018.
"""

from __future__ import annotations

from typing import Any

from irbench.spec import BATCH, InputSpec, TensorSpec
from irbench.spi import ModelSource

STEPS = 784
LEVELS = 8
CHANNELS = 25
KERNEL = 7
SERIES = "series"


def _build_tcn_mnist() -> Any:
    """Return the network that reads digits pixel by pixel, ``(batch, 784, 1)``, as an uncompiled ``keras.Model``."""
    import keras
    from keras import layers

    pixels = keras.Input((STEPS, 1), name=SERIES)
    x: Any = pixels
    for level in range(LEVELS):
        x = _block(x, 2**level, f"level{level + 1}")
    scores = layers.Dense(10, activation="softmax", name="predictions")(x[:, -1])
    return keras.Model(pixels, scores, name="tcn_mnist")


def _block(x: Any, dilation: int, name: str) -> Any:
    from keras import layers

    y = x
    for position in (1, 2):
        causal = {"padding": "causal", "dilation_rate": dilation, "activation": "relu"}
        y = layers.Conv1D(CHANNELS, KERNEL, **causal, name=f"{name}_conv{position}")(y)
    if x.shape[-1] != CHANNELS:
        x = layers.Conv1D(CHANNELS, 1, name=f"{name}_shortcut")(x)
    return layers.ReLU(name=f"{name}_relu")(layers.add([x, y], name=f"{name}_add"))


tcn_mnist = ModelSource(
    name="tcn_mnist",
    family="temporal CNN",
    summary="8 levels of dilated causal convolutions over 784 steps",
    inputs=(InputSpec(TensorSpec(SERIES, "float32", (BATCH, STEPS, 1)), 0.0, 1.0),),
    build=_build_tcn_mnist,
    parameters=66_510,
    macs=51_607_050,
)
