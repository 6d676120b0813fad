"""Networks of dense layers alone (Tolstikhin et al., *MLP-Mixer*, NeurIPS 2021)."""

from __future__ import annotations

from typing import Any

from irbench.spi import ModelSource
from irbench_zoo.inputs import IMAGE, image

SIZE = 224
PATCH = 16
DEPTH = 8
WIDTH = 512
TOKEN_HIDDEN = 256
CHANNEL_HIDDEN = 2048
EPSILON = 1e-6


def _build_mixer_s16() -> Any:
    """Return Mixer-S/16, a classifier of 1000 classes, as an uncompiled ``keras.Model``."""
    import keras
    from keras import layers

    pixels = keras.Input((SIZE, SIZE, 3), name=IMAGE)
    patches = layers.Conv2D(WIDTH, PATCH, PATCH, name="patches")(pixels)
    x = layers.Reshape(((SIZE // PATCH) ** 2, WIDTH), name="sequence")(patches)
    for position in range(DEPTH):
        x = _block(x, f"block{position + 1}")
    x = layers.LayerNormalization(epsilon=EPSILON, name="norm")(x)
    x = layers.GlobalAveragePooling1D(name="pool")(x)
    scores = layers.Dense(1000, activation="softmax", name="predictions")(x)
    return keras.Model(pixels, scores, name="mixer_s16")


def _block(x: Any, name: str) -> Any:
    from keras import layers

    turned = layers.LayerNormalization(epsilon=EPSILON, name=f"{name}_norm1")(x)
    turned = layers.Permute((2, 1), name=f"{name}_turn")(turned)
    mixed = layers.Permute((2, 1), name=f"{name}_return")(_dense(turned, TOKEN_HIDDEN, f"{name}_tokens"))
    x = layers.add([x, mixed], name=f"{name}_add1")
    mixed = layers.LayerNormalization(epsilon=EPSILON, name=f"{name}_norm2")(x)
    return layers.add([x, _dense(mixed, CHANNEL_HIDDEN, f"{name}_channels")], name=f"{name}_add2")


def _dense(x: Any, hidden: int, name: str) -> Any:
    from keras import layers

    expanded = layers.Dense(hidden, activation="gelu", name=f"{name}_expand")(x)
    return layers.Dense(x.shape[-1], name=f"{name}_contract")(expanded)


mixer_s16 = ModelSource(
    name="mixer_s16",
    family="MLP-Mixer",
    summary="8 layers of width 512, dense layers over patches and over channels in turn",
    inputs=image(SIZE, -1.0, 1.0),
    build=_build_mixer_s16,
    parameters=18_528_264,
    macs=3_776_958_464,
)
