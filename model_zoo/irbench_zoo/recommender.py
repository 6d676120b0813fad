"""Recommenders: few products, many tables.

DLRM (Naumov et al., *Deep Learning Recommendation Model*, 2019) in its configuration for the Criteo Kaggle data, with
hashed tables of 10,000 rows each; NeuMF (He et al., *Neural Collaborative Filtering*, WWW 2017) for MovieLens 1M.
"""

from __future__ import annotations

from typing import Any

from irbench.spec import BATCH, InputSpec, TensorSpec
from irbench.spi import ModelSource

NUMBERS = 13
CATEGORIES = 26
ROWS = 10_000
WIDTH = 16
BOTTOM = (512, 256, 64, WIDTH)
TOP = (512, 256)

USERS = 6_040
ITEMS = 3_706
FACTORS = 8
TOWER = (32, 16, 8)


def _build_dlrm() -> Any:
    """Return the model of how likely a click is as an uncompiled ``keras.Model``.

    ``numbers`` of shape ``(batch, 13)`` and ``categories`` of shape ``(batch, 26)`` give ``(batch, 1)``.
    """
    import keras
    from keras import layers, ops

    numbers = keras.Input((NUMBERS,), name="numbers")
    categories: Any = keras.Input((CATEGORIES,), dtype="int32", name="categories")
    dense = _dense(numbers, BOTTOM, "bottom")
    tables = [layers.Embedding(ROWS, WIDTH, name=f"table{place + 1}") for place in range(CATEGORIES)]
    vectors = ops.stack([dense, *(table(categories[:, place]) for place, table in enumerate(tables))], axis=1)
    products = ops.reshape(ops.matmul(vectors, ops.transpose(vectors, (0, 2, 1))), (-1, (CATEGORIES + 1) ** 2))
    below = [row * (CATEGORIES + 1) + column for row in range(CATEGORIES + 1) for column in range(row)]
    x = layers.concatenate([dense, ops.take(products, below, axis=1)], name="interactions")
    click = layers.Dense(1, activation="sigmoid", name="click")(_dense(x, TOP, "top"))
    return keras.Model([numbers, categories], click, name="dlrm")


def _build_neumf() -> Any:
    """Return the model of whether a user likes an item as an uncompiled ``keras.Model``: two ``(batch, 1)`` to one."""
    import keras
    from keras import layers

    user, item = (keras.Input((1,), dtype="int32", name=name) for name in ("user", "item"))
    rows = (("user", user, USERS), ("item", item, ITEMS))

    def both(width: int, name: str) -> list[Any]:
        tables = [layers.Embedding(count, width, name=f"{name}_{kind}")(item) for kind, item, count in rows]
        return [layers.Flatten()(table) for table in tables]

    factors = layers.multiply(both(FACTORS, "factors"), name="factors")
    tower = _dense(layers.concatenate(both(TOWER[0], "tower"), name="tower"), TOWER, "tower")
    liked = layers.Dense(1, activation="sigmoid", name="liked")(layers.concatenate([factors, tower], name="both"))
    return keras.Model([user, item], liked, name="neumf")


def _dense(x: Any, widths: tuple[int, ...], name: str) -> Any:
    from keras import layers

    for position, width in enumerate(widths):
        x = layers.Dense(width, activation="relu", name=f"{name}{position + 1}")(x)
    return x


dlrm = ModelSource(
    name="dlrm",
    family="recommender",
    summary="26 tables of 10,000 rows, 7 dense layers and products of all pairs",
    inputs=(
        InputSpec(TensorSpec("numbers", "float32", (BATCH, NUMBERS)), 0.0, 1.0),
        InputSpec(TensorSpec("categories", "int32", (BATCH, CATEGORIES)), 0, ROWS),
    ),
    build=_build_dlrm,
    classifier=False,
    parameters=4_635_985,
    macs=486_032,
)
neumf = ModelSource(
    name="neumf",
    family="recommender",
    summary="factors of 6,040 users and 3,706 items beside 3 dense layers",
    inputs=(
        InputSpec(TensorSpec("user", "int32", (BATCH, 1)), 0, USERS),
        InputSpec(TensorSpec("item", "int32", (BATCH, 1)), 0, ITEMS),
    ),
    build=_build_neumf,
    classifier=False,
    parameters=392_601,
    macs=2_704,
)
