"""A text in, its class out: a tokenizer in Python, the model and its scores, as the stages of a row of irbench.

VOCABULARY=vocab.txt irbench run classifier.onnx --backends ort --cell service=docs/examples/text_pipeline.py:stages

The vocabulary has a token a line, pieces within a word with ## before them, as BERT's files have. The model takes
int64 numbers of tokens, 1 x length, and perhaps a mask of the same shape: an input whose name has "mask" in it.
"""

import os
import re
import unicodedata
from pathlib import Path

import numpy as np

TEXT = os.environ.get("TEXT", "Three benchmarks agree, and the fourth was measured on a busy machine.")
WORDS = re.compile(r"\w+|[^\w\s]")


def stages(cell):
    """Return the stages in order; each is given what the one before it returned."""
    tokens = Path(os.environ["VOCABULARY"]).read_text(encoding="utf-8").splitlines()
    numbers = {token: number for number, token in enumerate(tokens)}
    length = next(iter(cell.shapes.values()))[1]

    def tokenize(text):
        return [piece for word in WORDS.findall(text) for piece in pieces(word, numbers)]

    def encode(tokens):
        kept = [numbers.get(token, 0) for token in tokens[:length]]
        ids, mask = np.zeros((2, 1, length), np.int64)
        ids[0, : len(kept)], mask[0, : len(kept)] = kept, 1
        return {name: mask if "mask" in name else ids for name in cell.shapes}

    return {
        "normalise": normalise,
        "tokenize": tokenize,
        "encode": encode,
        "model": os.environ.get("BACKEND", "ort"),
        "classify": classify,
    }


def normalise(_inputs):
    """Return the text without accents, in small letters; irbench's inputs are not needed."""
    letters = unicodedata.normalize("NFD", TEXT.lower())
    return "".join(letter for letter in letters if unicodedata.category(letter) != "Mn")


def pieces(word, numbers):
    """Yield the longest pieces of a word that the vocabulary has; letters that it does not have as they are."""
    start = 0
    while start < len(word):
        marks = "##" if start else ""
        ends = range(len(word), start, -1)
        end = next((end for end in ends if marks + word[start:end] in numbers), start + 1)
        yield marks + word[start:end]
        start = end


def classify(outputs):
    """Find the class and its probability; what a last stage returns would be compared with the model's outputs."""
    scores = np.exp(outputs[0][0] - outputs[0][0].max())
    classify.answer = int(scores.argmax()), float(scores.max() / scores.sum())
