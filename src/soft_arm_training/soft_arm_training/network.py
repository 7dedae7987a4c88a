"""The network: residual backbone, feature pyramid, protonet and prediction head."""

import hashlib
import pickle
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

from soft_arm_vision.errors import VisionError
from soft_arm_vision.segmentation.yolact.anchors import AnchorLayout
from soft_arm_vision.segmentation.yolact.input_channels import COLOUR_CHANNELS, DEPTH_CHANNELS


@dataclass(frozen=True)
class YolactConfig:
    """Architecture of a network.

    Attributes:
        classes: Names, without the background.
        layout: Its anchors, with the strides of the last three stages of the backbone.
        widths: Channels of the stem and of the four stages.
        depths: Residual blocks of the four stages.
        pyramid: Channels of the feature pyramid.
        prototypes: Number of prototype masks.
        depth: Whether it has inputs of depth and colours.
    """

    classes: tuple[str, ...] = ('ring',)
    layout: AnchorLayout = AnchorLayout()
    widths: tuple[int, ...] = (16, 24, 40, 80, 128)
    depths: tuple[int, ...] = (1, 2, 2, 1)
    pyramid: int = 40
    prototypes: int = 16
    depth: bool = True

    @property
    def input_channels(self) -> int:
        """Of its input."""
        return COLOUR_CHANNELS + self.depth * DEPTH_CHANNELS


@dataclass
class Output:
    """Raw predictions for a batch of b pictures, n anchors, c classes, k prototypes.

    Attributes:
        boxes: Relative to the anchors, shape (b, n, 4).
        scores: Logits, background first, shape (b, n, 1 + c).
        coefficients: Within -1..1, shape (b, n, k).
        prototypes: Shape (b, k, h / 4, w / 4), not negative.
        semantic: Logits of each class on the finest level, shape (b, c, h / 8, w / 8); None except
            in training.
    """

    boxes: Tensor
    scores: Tensor
    coefficients: Tensor
    prototypes: Tensor
    semantic: Tensor | None


def _convolution(inputs: int, outputs: int, stride: int = 1, size: int = 3) -> nn.Sequential:
    return nn.Sequential(
        nn.Conv2d(inputs, outputs, size, stride, size // 2, bias=False),
        nn.BatchNorm2d(outputs),
        nn.ReLU(inplace=True),
    )


class _Block(nn.Module):
    """Basic residual block."""

    def __init__(self, inputs: int, outputs: int, stride: int):
        super().__init__()
        self.first = _convolution(inputs, outputs, stride)
        self.second = nn.Sequential(
            nn.Conv2d(outputs, outputs, 3, 1, 1, bias=False), nn.BatchNorm2d(outputs)
        )
        same = stride == 1 and inputs == outputs
        self.shortcut = (
            nn.Identity()
            if same
            else nn.Sequential(
                nn.Conv2d(inputs, outputs, 1, stride, bias=False), nn.BatchNorm2d(outputs)
            )
        )

    def forward(self, x: Tensor) -> Tensor:
        """Residual sum."""
        return functional.relu(self.second(self.first(x)) + self.shortcut(x))


class Backbone(nn.Module):
    """Residual network; its last three stages have strides 8, 16 and 32."""

    def __init__(self, input_channels: int, widths: tuple[int, ...], depths: tuple[int, ...]):
        super().__init__()
        self.stem = _convolution(input_channels, widths[0], 2)
        self.stages = nn.ModuleList()
        for inputs, outputs, depth in zip(widths, widths[1:], depths, strict=False):
            self.stages.append(
                nn.Sequential(
                    _Block(inputs, outputs, 2),
                    *(_Block(outputs, outputs, 1) for _ in range(depth - 1)),
                )
            )

    def forward(self, x: Tensor) -> list[Tensor]:
        """C3, C4 and C5."""
        x, found = self.stem(x), []
        for stage in self.stages:
            x = stage(x)
            found.append(x)
        return found[1:]


class Pyramid(nn.Module):
    """Feature pyramid (Lin et al. 2017): lateral 1x1, bilinear top-down, 3x3 to smooth."""

    def __init__(self, inputs: tuple[int, ...], channels: int):
        super().__init__()
        self.lateral = nn.ModuleList(nn.Conv2d(i, channels, 1) for i in inputs)
        self.smooth = nn.ModuleList(
            nn.Sequential(nn.Conv2d(channels, channels, 3, 1, 1), nn.ReLU(inplace=True))
            for _ in inputs
        )

    def forward(self, stages: list[Tensor]) -> list[Tensor]:
        """P3, P4 and P5."""
        above: Tensor | None = None
        levels: list[Tensor] = []
        for lateral, smooth, stage in zip(
            reversed(self.lateral), reversed(self.smooth), reversed(stages), strict=True
        ):
            x = lateral(stage)
            if above is not None:
                x = x + functional.interpolate(
                    above, size=x.shape[-2:], mode='bilinear', align_corners=False
                )
            above = x
            levels.insert(0, smooth(x))
        return levels


class Protonet(nn.Module):
    """Prototype masks from P3, at a quarter of the input's size."""

    def __init__(self, channels: int, prototypes: int):
        super().__init__()
        self.coarse = nn.Sequential(nn.Conv2d(channels, channels, 3, 1, 1), nn.ReLU(inplace=True))
        self.fine = nn.Sequential(
            nn.Conv2d(channels, channels, 3, 1, 1),
            nn.ReLU(inplace=True),
            nn.Conv2d(channels, prototypes, 1),
        )

    def forward(self, finest: Tensor) -> Tensor:
        """Prototypes, (b, k, h / 4, w / 4)."""
        doubled = functional.interpolate(
            self.coarse(finest), scale_factor=2, mode='bilinear', align_corners=False
        )
        return functional.relu(self.fine(doubled))


class Head(nn.Module):
    """Boxes, classes and mask coefficients; the same weights on every level."""

    def __init__(self, channels: int, anchors: int, classes: int, prototypes: int):
        super().__init__()
        self.shared = nn.Sequential(nn.Conv2d(channels, channels, 3, 1, 1), nn.ReLU(inplace=True))
        self.boxes = nn.Conv2d(channels, anchors * 4, 3, 1, 1)
        self.scores = nn.Conv2d(channels, anchors * (classes + 1), 3, 1, 1)
        self.coefficients = nn.Conv2d(channels, anchors * prototypes, 3, 1, 1)
        self.sizes = (4, classes + 1, prototypes)

    def forward(self, level: Tensor) -> tuple[Tensor, ...]:
        """Each as (b, cells x anchors, ...)."""
        x = self.shared(level)
        parts = (self.boxes(x), self.scores(x), torch.tanh(self.coefficients(x)))
        return tuple(
            p.permute(0, 2, 3, 1).reshape(p.shape[0], -1, size)
            for p, size in zip(parts, self.sizes, strict=True)
        )


class Yolact(nn.Module):
    """The whole network; its input has shape (b, channels, h, w), see `input_channels`."""

    def __init__(self, config: YolactConfig):
        super().__init__()
        self.config = config
        classes = len(config.classes)
        self.backbone = Backbone(config.input_channels, config.widths, config.depths)
        self.pyramid = Pyramid(config.widths[-3:], config.pyramid)
        self.protonet = Protonet(config.pyramid, config.prototypes)
        self.head = Head(config.pyramid, config.layout.per_cell, classes, config.prototypes)
        self.semantic = nn.Conv2d(config.pyramid, classes, 1)
        for part in self.modules():
            if isinstance(part, nn.Conv2d):
                nn.init.kaiming_normal_(part.weight, nonlinearity='relu')
                if part.bias is not None:
                    nn.init.zeros_(part.bias)
        for part in (self.head.boxes, self.head.scores, self.head.coefficients, self.semantic):
            nn.init.normal_(part.weight, std=0.01)

    def forward(self, pictures: Tensor) -> Output:
        """Raw predictions."""
        levels = self.pyramid(self.backbone(pictures))
        boxes, scores, coefficients = (
            torch.cat(parts, dim=1)
            for parts in zip(*(self.head(level) for level in levels), strict=True)
        )
        semantic = self.semantic(levels[0]) if self.training else None
        return Output(boxes, scores, coefficients, self.protonet(levels[0]), semantic)


def save_weights(network: Yolact, path: Path) -> str:
    """Write configuration and weights; returns the file's SHA-256."""
    torch.save({'config': _plain(network.config), 'weights': network.state_dict()}, path)
    return checksum(path)


def load_weights(path: Path, sha256: str | None = None) -> Yolact:
    """Network of a file, ready for inference.

    Args:
        path: File of `save_weights`. Only tensors and plain values are accepted from it, never
            code. sha256: What the file's SHA-256 must be; None: anything.

    Raises:
        VisionError: If the file is another one or holds no network.
    """
    if not path.is_file():
        raise VisionError(f'there are no weights {path}')
    found = checksum(path)
    if sha256 is not None and found != sha256:
        raise VisionError(
            f'weights {path} have checksum {found[:12]}.., {sha256[:12]}.. is expected: the '
            'file is damaged or another one'
        )
    try:
        content = torch.load(path, map_location='cpu', weights_only=True)
        config = content['config']
        layout = AnchorLayout(**{k: _tuples(v) for k, v in config['layout'].items()})
        network = Yolact(
            YolactConfig(
                **{k: _tuples(v) for k, v in config.items() if k != 'layout'}, layout=layout
            )
        )
        network.load_state_dict(content['weights'])
    except (
        pickle.UnpicklingError,
        RuntimeError,
        KeyError,
        TypeError,
        AttributeError,
        EOFError,
        ValueError,
    ) as error:
        raise VisionError(
            f'{path} holds no YOLACT weights: {str(error).splitlines()[0]}'
        ) from error
    return network.eval()


def checksum(path: Path) -> str:
    """SHA-256 of a file, hexadecimal."""
    return hashlib.sha256(path.read_bytes()).hexdigest()


def _plain(config: YolactConfig) -> dict:
    return {k: list(v) if isinstance(v, tuple) else v for k, v in asdict(config).items()}


def _tuples(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value
