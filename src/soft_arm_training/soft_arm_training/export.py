"""Export a trained network to ONNX, so that it runs without torch, with metadata."""

import dataclasses
import json
import warnings
from pathlib import Path

import torch
from torch import Tensor, nn

from soft_arm_training.network import Yolact, checksum
from soft_arm_vision.segmentation.yolact.exported import INPUT, OUTPUTS

OPSET = 17


class _Flat(nn.Module):
    """The network with a plain tuple as its output."""

    def __init__(self, network: Yolact):
        super().__init__()
        self.network = network

    def forward(self, pictures: Tensor) -> tuple[Tensor, ...]:
        output = self.network(pictures)
        return output.boxes, output.scores, output.coefficients, output.prototypes


def export(network: Yolact, path: Path, metadata: dict) -> dict:
    """Write `path` (.onnx) and its metadata (.json) in the same folder; return the metadata.

    Args:
        network: The network, in inference mode.
        path: Path of the exported network.
        metadata: Further metadata: data, seeds, command, metrics, min_score.
    """
    layout = network.config.layout
    picture = torch.zeros(1, network.config.input_channels, layout.height_px, layout.width_px)
    with warnings.catch_warnings():  # the exporter that writes plain graphs calls itself old
        warnings.simplefilter('ignore')
        flat = _Flat(network).eval()
        torch.onnx.export(
            flat,
            (picture,),
            str(path),
            opset_version=OPSET,
            dynamo=False,
            input_names=[INPUT],
            output_names=OUTPUTS,
            dynamic_axes={INPUT: {2: 'height', 3: 'width'}},
        )
    metadata = metadata | {
        'sha256': checksum(path),
        'classes': list(network.config.classes),
        'layout': dataclasses.asdict(layout),
    }
    metadata['depth'] = network.config.depth
    write_metadata(path, metadata)
    return metadata


def write_metadata(path: Path, metadata: dict) -> None:
    """Write the metadata of the network `path`, in its folder."""
    path.with_suffix('.json').write_text(json.dumps(metadata, indent=2) + '\n')
