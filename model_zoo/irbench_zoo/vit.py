"""Vision Transformers (Dosovitskiy et al., *An Image is Worth 16x16 Words*, ICLR 2021), without trained weights.

The tiny and the small one are those of Touvron et al., *Training data-efficient image transformers*, ICML 2021.
"""

from __future__ import annotations

from functools import partial
from typing import Any

from irbench.spi import ModelSource
from irbench_zoo.inputs import IMAGE, image

SIZE = 224
PATCH = 16
DEPTH = 12
EPSILON = 1e-6


def _build_vit(width: int, name: str) -> Any:
    """Return the classifier of 1000 classes, heads 64 wide, as an uncompiled ``keras.Model``."""
    import keras
    from keras import layers

    from irbench_zoo.transformer_layers import Block, ClassToken, Positions, exact_gelu, stack

    pixels = keras.Input((SIZE, SIZE, 3), name=IMAGE)
    patches = layers.Conv2D(width, PATCH, PATCH, name="patches")(pixels)
    x = layers.Reshape(((SIZE // PATCH) ** 2, width), name="sequence")(patches)
    x = ClassToken(name="class_token")(x)
    x = Positions(1 + (SIZE // PATCH) ** 2, name="positions")(x)
    x = stack(x, Block(width, width // 64, EPSILON, exact_gelu, normalise_first=True), DEPTH)
    x = layers.LayerNormalization(epsilon=EPSILON, name="norm")(x)
    scores = layers.Dense(1000, activation="softmax", name="predictions")(x[:, 0])
    return keras.Model(pixels, scores, name=name)


def _source(name: str, width: int, parameters: int, macs: int) -> ModelSource:
    return ModelSource(
        name=name,
        family="vision Transformer",
        summary=f"{DEPTH} layers of width {width} with {width // 64} heads, patches of 16x16",
        inputs=image(SIZE, -1.0, 1.0),
        build=partial(_build_vit, width, name),
        parameters=parameters,
        macs=macs,
    )


vit_tiny = _source("vit_tiny", 192, 5_717_416, 1_253_683_200)
vit_small = _source("vit_small", 384, 22_050_664, 4_598_882_304)
vit_base = _source("vit_base", 768, 86_567_656, 17_563_828_224)
