"""Small modules of PyTorch, as users write them: each function returns a module with its example inputs."""

from __future__ import annotations

import torch
from torch import nn
from torch.nn import functional


class TwoHeads(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.body = nn.Sequential(nn.Conv2d(3, 8, 3, padding=1), nn.BatchNorm2d(8), nn.ReLU(), nn.AdaptiveAvgPool2d(1))
        self.classes, self.boxes = nn.Linear(8, 10), nn.Linear(8, 4)

    def forward(self, image):
        features = self.body(image).flatten(1)
        return {"classes": self.classes(features).softmax(-1), "boxes": self.boxes(features)}


def two_heads():
    return TwoHeads().train(), torch.rand(1, 3, 16, 16)


class Encoder(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.embedding = nn.Embedding(50, 32)
        layer = nn.TransformerEncoderLayer(32, 4, 64, batch_first=True)
        self.layers = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)

    def forward(self, tokens, *, scale, shift=None):
        encoded = self.layers(self.embedding(tokens)) * scale
        return encoded if shift is None else encoded + shift


def encoder():
    inputs = {"tokens": torch.randint(0, 50, (2, 12)), "scale": torch.rand(2, 1, 1), "shift": None}
    return Encoder(), inputs, {"tokens": {1: "length"}}


class Recurrent(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.gru = nn.GRU(8, 16, batch_first=True)

    def forward(self, steps):
        outputs, state = self.gru(steps)
        return outputs, state.transpose(0, 1)


def recurrent():
    return Recurrent(), (torch.rand(2, 5, 8),)


class CachedDecoder(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.embedding = nn.Embedding(40, 16)
        self.project, self.head = nn.Linear(16, 48), nn.Linear(16, 40)

    def forward(self, token, past):
        query, key, value = self.project(self.embedding(token)).chunk(3, -1)
        keys, values = torch.cat([past[0], key], 1), torch.cat([past[1], value], 1)
        attended = functional.scaled_dot_product_attention(query[:, None], keys[:, None], values[:, None])[:, 0]
        return self.head(attended), (keys, values)


def cached_decoder():
    past = (torch.rand(2, 6, 16), torch.rand(2, 6, 16))
    dimensions = {"past_0": {1: "past_length"}, "past_1": {1: "past_length"}}
    return CachedDecoder(), (torch.randint(0, 40, (2, 1)), past), dimensions


class PromptedDecoder(nn.Module):
    """Reads any number of tokens at once, after those in its caches."""

    def __init__(self) -> None:
        super().__init__()
        self.embedding, self.places = nn.Embedding(40, 16), nn.Embedding(64, 16)
        self.project, self.head = nn.Linear(16, 48), nn.Linear(16, 40)

    def forward(self, tokens, past):
        start = past[0].shape[1]
        hidden = self.embedding(tokens) + self.places(torch.arange(start, start + tokens.shape[1]))
        query, key, value = self.project(hidden).chunk(3, -1)
        keys, values = torch.cat([past[0], key], 1), torch.cat([past[1], value], 1)
        known = torch.arange(keys.shape[1])
        allowed = known[None, :] <= known[start:, None]
        attended = functional.scaled_dot_product_attention(query, keys, values, attn_mask=allowed)
        return {"logits": self.head(attended), "present": (keys, values)}


def prompted_decoder():
    past = (torch.rand(2, 6, 16), torch.rand(2, 6, 16))
    dimensions = {"tokens": {1: "length"}, "past_0": {1: "past_length"}, "past_1": {1: "past_length"}}
    return PromptedDecoder(), (torch.randint(0, 40, (2, 3)), past), dimensions


def grouped():
    module = nn.Sequential(nn.Conv2d(8, 16, 3, groups=4), nn.ReLU(), nn.ConvTranspose2d(16, 8, 3, groups=2))
    return module, (torch.rand(2, 8, 12, 12),)


class Resized(nn.Module):
    def forward(self, image):
        return functional.interpolate(image, scale_factor=2.0, mode="bilinear", align_corners=False).mean(1)


def resized():
    return Resized(), (torch.rand(2, 3, 8, 8),)


class ThreeInputs(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.users, self.items = nn.Embedding(30, 8), nn.Embedding(20, 8)
        self.tied = nn.Linear(8, 20, bias=False)
        self.tied.weight = self.items.weight
        self.register_buffer("prior", torch.rand(20))

    def forward(self, user, item, weight):
        return self.tied(self.users(user) * self.items(item)) * weight + self.prior


def three_inputs():
    return ThreeInputs(), (torch.randint(0, 30, (4,)), torch.randint(0, 20, (4,)), torch.rand(4, 1))


def half():
    return nn.Sequential(nn.Linear(16, 32), nn.ReLU(), nn.Linear(32, 4)).half(), (torch.rand(2, 16).half(),)


class FixedBatch(nn.Module):
    def forward(self, image):
        return image.reshape(2, 4, -1).sum(1)


def fixed_batch():
    return FixedBatch(), (torch.rand(2, 8, 3),)


class Branching(nn.Module):
    def forward(self, values):
        if values.sum() > 0:
            return values * 2
        return values - 1


def branching():
    return Branching(), (torch.rand(2, 3),)


class NoCounterpart(nn.Module):
    def forward(self, values):
        return torch.special.airy_ai(values)


def no_counterpart():
    return NoCounterpart(), (torch.rand(2, 3),)


def without_inputs():
    return nn.Linear(4, 4)


def with_attribute():
    module = nn.Linear(4, 3)
    module.example_inputs = (torch.rand(2, 4),)
    return module


NAMED = with_attribute()


class Counting(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("calls", torch.zeros(()))

    def forward(self, values):
        self.calls += 1
        return values * self.calls


def counting():
    return Counting(), (torch.rand(2, 3),)


class InPlace(nn.Module):
    def forward(self, values):
        return values.mul_(2) + 1


def in_place():
    return InPlace(), (torch.rand(2, 3),)


class Unchanged(nn.Module):
    def forward(self, values):
        return values, values * 2


def unchanged():
    return Unchanged(), (torch.rand(2, 3),)


class SameNames(nn.Module):
    def forward(self, values):
        return {"values": values * 2, "a": {"b": values + 1}, "a_b": values - 1}


def same_names():
    return SameNames(), (torch.zeros(2, 3),)


class Fourier(nn.Module):
    def forward(self, values):
        return torch.fft.fft(values)


def fourier():
    return Fourier(), (torch.rand(2, 3),)


def batch_second():
    return nn.LSTM(4, 3), (torch.rand(5, 2, 4),), {"input": {1: "batch"}}


def script():
    return torch.jit.script(nn.Linear(4, 4)), (torch.rand(2, 4),)


class Broken(nn.Module):
    def forward(self, values):
        return values @ torch.ones(5, 5)


def broken():
    return Broken(), (torch.rand(2, 3),)
