"""A generator of images (Radford et al., *Unsupervised Representation Learning with DCGANs*, ICLR 2016)."""

from __future__ import annotations

from typing import Any

from irbench.spec import BATCH, InputSpec, TensorSpec
from irbench.spi import ModelSource

LATENT = 100
CHANNELS = (1024, 512, 256, 128)


def _build_dcgan_generator() -> Any:
    """Return the generator, ``latent`` of shape ``(batch, 100)`` to ``(batch, 64, 64, 3)``, as a ``keras.Model``."""
    import keras
    from keras import layers

    latent = keras.Input((LATENT,), name="latent")
    x = layers.Dense(4 * 4 * CHANNELS[0], use_bias=False, name="project")(latent)
    x = _activated(layers.Reshape((4, 4, CHANNELS[0]), name="square")(x), "project")
    for channels in CHANNELS[1:]:
        grown = layers.Conv2DTranspose(channels, 5, 2, padding="same", use_bias=False, name=f"grow{channels}")(x)
        x = _activated(grown, f"grow{channels}")
    image = layers.Conv2DTranspose(3, 5, 2, padding="same", activation="tanh", name="image")(x)
    return keras.Model(latent, image, name="dcgan_generator")


def _activated(x: Any, name: str) -> Any:
    from keras import layers

    return layers.ReLU(name=f"{name}_relu")(layers.BatchNormalization(name=f"{name}_norm")(x))


dcgan_generator = ModelSource(
    name="dcgan_generator",
    family="generator",
    summary="4 transposed convolutions from 100 numbers to a 64x64 image",
    inputs=(InputSpec(TensorSpec("latent", "float32", (BATCH, LATENT)), -1.0, 1.0),),
    build=_build_dcgan_generator,
    classifier=False,
    parameters=18_858_883,
    macs=640_614_400,
)
