"""Run the exported network by onnxruntime, without torch."""

import hashlib
from pathlib import Path
from typing import Annotated, NotRequired

import cv2
import numpy as np
import onnxruntime
from pydantic import ConfigDict, Field, FiniteFloat
from typing_extensions import TypedDict

from soft_arm_description.yaml_file import YamlFileError, read_json
from soft_arm_vision.errors import VisionError
from soft_arm_vision.segmentation.yolact.anchors import AnchorLayout
from soft_arm_vision.segmentation.yolact.input_channels import input_channels, reduced_depth
from soft_arm_vision.segmentation.yolact.postprocessing import Detections, assemble, postprocess

INPUT = 'picture'
OUTPUTS = ['boxes', 'scores', 'coefficients', 'prototypes']
THREADS = 2  # more would stand in the way of the other nodes
SHIPPED = Path(__file__).parent / 'weights' / 'ring_segmenter.onnx'


_Level = Annotated[int, Field(ge=1, le=1024)]
_Positive = Annotated[FiniteFloat, Field(ge=1e-3, le=1e4)]


class _Layout(TypedDict):
    __pydantic_config__ = ConfigDict(extra='forbid')  # type: ignore[misc]
    width_px: Annotated[int, Field(ge=1, le=4096)]
    height_px: Annotated[int, Field(ge=1, le=4096)]
    strides_px: Annotated[list[_Level], Field(min_length=1, max_length=8)]
    sizes_px: Annotated[list[_Positive], Field(min_length=1, max_length=8)]
    octaves: Annotated[list[_Positive], Field(min_length=1, max_length=8)]
    ratios: Annotated[list[_Positive], Field(min_length=1, max_length=8)]


class _Metadata(TypedDict):
    __pydantic_config__ = ConfigDict(extra='allow')  # type: ignore[misc]  # who made it, and how good it is
    sha256: Annotated[str, Field(pattern='^[0-9a-f]{64}$')]
    classes: Annotated[list[str], Field(min_length=1)]
    layout: _Layout
    depth: bool
    min_score: Annotated[FiniteFloat, Field(ge=0, le=1)]
    verifier: NotRequired[dict[str, FiniteFloat]]  # of networks that find rings


class ExportedYolact:
    """An exported YOLACT.

    Args:
        path: ONNX file with its metadata (.json) beside it.

    Raises:
        VisionError: If a file is missing, or the network is not the one that the metadata
            describes.
    """

    def __init__(self, path: Path = SHIPPED):
        try:
            metadata = read_json(path.with_suffix('.json'), _Metadata)
            content = path.read_bytes()
        except (OSError, YamlFileError) as error:
            why = getattr(error, 'strerror', None) or error
            raise VisionError(
                f'network {path} with its metadata {path.with_suffix(".json").name} cannot '
                f'be read: {why}'
            ) from error
        if len(metadata['layout']['strides_px']) != len(metadata['layout']['sizes_px']):
            raise VisionError(
                f'network {path}: its metadata has not as many strides_px as sizes_px: the '
                'metadata is damaged'
            )
        found = hashlib.sha256(content).hexdigest()
        if found != metadata['sha256']:
            raise VisionError(
                f'network {path} has checksum {found[:12]}.., its metadata says '
                f'{metadata["sha256"][:12]}..: the file is damaged'
            )
        self.metadata, self.classes = metadata, tuple(metadata['classes'])
        layout = metadata['layout']
        self.layout = AnchorLayout(
            layout['width_px'],
            layout['height_px'],
            tuple(layout['strides_px']),
            tuple(layout['sizes_px']),
            tuple(layout['octaves']),
            tuple(layout['ratios']),
        )
        self._anchors = self.layout.boxes()
        self._network = _session(content)

    def raw(self, rgb: np.ndarray, depth_m: np.ndarray) -> tuple[np.ndarray, ...]:
        """Return boxes, scores, coefficients and prototypes, as `postprocess` takes them."""
        size_px = self.layout.width_px, self.layout.height_px
        small = cv2.resize(rgb, size_px, interpolation=cv2.INTER_AREA)
        seen = input_channels(
            small, reduced_depth(depth_m, size_px) if self.metadata['depth'] else None
        )
        return tuple(part[0] for part in self._network.run(OUTPUTS, {INPUT: seen[None]}))

    def detect(
        self, rgb: np.ndarray, depth_m: np.ndarray, min_score: float | None = None
    ) -> tuple[Detections, np.ndarray]:
        """Return the instances and prototypes of one image.

        Args:
            rgb: Shape (h, w, 3), uint8.
            depth_m: Aligned depth [m], 0 where there is none, shape (h, w); unused by a network for
                colour only.
            min_score: Least probability of a class; None: that of the metadata.
        """
        boxes, scores, coefficients, prototypes = self.raw(rgb, depth_m)
        least = self.metadata['min_score'] if min_score is None else min_score
        return postprocess(
            boxes, scores, coefficients, self._anchors, self.layout, least
        ), prototypes

    def mask(
        self, found: Detections, prototypes: np.ndarray, i: int, shape: tuple[int, int]
    ) -> tuple[np.ndarray, int, int]:
        """Return the mask of instance i in an image of shape (h, w), its first row and column."""
        return assemble(prototypes, found.coefficients[i], found.boxes[i], self.layout, shape)


def _session(content: bytes) -> onnxruntime.InferenceSession:
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = THREADS
    # Otherwise its threads keep a core busy after a picture.
    options.add_session_config_entry('session.force_spinning_stop', '1')
    return onnxruntime.InferenceSession(content, options, providers=['CPUExecutionProvider'])
