"""Run the exported network by onnxruntime, without torch."""

import hashlib
from dataclasses import replace
from pathlib import Path
from typing import Annotated, NotRequired

import cv2
import numpy as np
import onnxruntime
from pydantic import ConfigDict, Field, FiniteFloat
from typing_extensions import TypedDict

from soft_arm_description.robot import Ring
from soft_arm_io.yaml_file import YamlFileError, read_json
from soft_arm_vision.errors import VisionError
from soft_arm_vision.segmentation.colour_mask import is_coloured
from soft_arm_vision.segmentation.yolact.anchors import AnchorLayout
from soft_arm_vision.segmentation.yolact.input_channels import input_channels, reduced_depth
from soft_arm_vision.segmentation.yolact.postprocessing import (
    STRIDE_PX,
    Detections,
    assemble,
    postprocess,
)
from soft_arm_vision.segmentation.yolact.recolouring import Paint, recoloured

INPUT = 'picture'
OUTPUTS = ['boxes', 'scores', 'coefficients', 'prototypes']
THREADS = 2  # more would stand in the way of the other nodes
# Width and height of the window in which an instance is tracked: the network learns from crops of
# this size.
WINDOW_PX = 160, 128
MAX_FINER = 2  # of the input: four times the time
SHIPPED = Path(__file__).parent / 'weights' / 'ring_segmenter.onnx'
SHIPPED_FOR_GREY = SHIPPED.with_name('grey_ring_segmenter.onnx')

Window = tuple[slice, slice]  # rows and columns of the network's input

_Level = Annotated[int, Field(ge=1, le=1024)]
_Share = Annotated[FiniteFloat, Field(ge=0, le=1)]
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
    __pydantic_config__ = ConfigDict(extra='allow')  # type: ignore[misc]  # provenance and scores
    sha256: Annotated[str, Field(pattern='^[0-9a-f]{64}$')]
    classes: Annotated[list[str], Field(min_length=1)]
    layout: _Layout
    depth: bool
    min_score: Annotated[FiniteFloat, Field(ge=0, le=1)]
    # Radius and paint of the rings that it has learned from, and the mean of the darkest grey paint
    # that it finds as well, if any.
    ring_radius_m: NotRequired[_Positive]
    ring_colour_rgb: NotRequired[tuple[_Share, _Share, _Share]]
    darkest_grey: NotRequired[_Share]


class ExportedYolact:
    """An exported YOLACT.

    Args:
        path: ONNX file with its metadata (.json) in the same folder.
        ring: The ring that it looks for; None: the one that it has learned.

    Raises:
        VisionError: If a file is missing, the network is not the one that the metadata
            describes, or it cannot see rings of this colour.
    """

    def __init__(self, path: Path = SHIPPED, ring: Ring | None = None):
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
        known_rgb, known_m = metadata.get('ring_colour_rgb'), metadata.get('ring_radius_m')
        self._paints = (ring.colour_rgb, known_rgb) if ring and known_rgb else None
        if self._paints:
            _check_paint(path, *self._paints, metadata.get('darkest_grey'))
        # A ring looks like one of twice its size at twice the distance; where that would be too far
        # for the network, it sees a finer picture.
        larger = known_m / ring.radius_m if ring and known_m else 1.0
        finer = min(max(int(larger), 1), MAX_FINER)
        self._depth_scale = np.float32(larger / finer)
        layout = metadata['layout']
        self.layout = AnchorLayout(
            finer * layout['width_px'],
            finer * layout['height_px'],
            tuple(layout['strides_px']),
            tuple(layout['sizes_px']),
            tuple(layout['octaves']),
            tuple(layout['ratios']),
        )
        width_px, height_px = WINDOW_PX
        self._window_layout = replace(self.layout, width_px=width_px, height_px=height_px)
        self._anchors = self.layout.boxes()
        self._window_anchors = self._window_layout.boxes()
        self._network = _session(content)
        # Networks of earlier releases take whole pictures only.
        self._takes_windows = isinstance(self._network.get_inputs()[0].shape[2], str) and (
            width_px <= self.layout.width_px and height_px <= self.layout.height_px
        )

    def window_about(self, part: tuple[slice, slice], shape: tuple[int, int]) -> Window | None:
        """Return the window with the same middle as a part of an image, moved inside the image.

        Args:
            part: Rows and columns of the image.
            shape: Of the image, (h, w).

        Returns:
            The window; None if the part does not fit into one, or the network takes none.
        """
        if not self._takes_windows:
            return None
        window = []
        for pixels, of_image, whole, size in zip(
            part,
            shape,
            (self.layout.height_px, self.layout.width_px),
            reversed(WINDOW_PX),
            strict=True,
        ):
            scale = whole / of_image
            if (pixels.stop - pixels.start) * scale > size:
                return None
            middle = (pixels.start + pixels.stop) / 2 * scale
            stride = self.layout.strides_px[0]
            cells = min(max(round((middle - size / 2) / stride), 0), (whole - size) // stride)
            start = cells * stride
            window.append(slice(start, start + size))
        return window[0], window[1]

    def raw(
        self, rgb: np.ndarray, depth_m: np.ndarray, window: Window | None = None
    ) -> tuple[np.ndarray, ...]:
        """Return boxes, scores, coefficients and prototypes, as `postprocess` takes them."""
        size_px = self.layout.width_px, self.layout.height_px
        part = window or (slice(None), slice(None))
        small = cv2.resize(rgb, size_px, interpolation=cv2.INTER_AREA)[part]
        if self._paints:
            small = recoloured(small, *self._paints)
        scaled_m = None
        if self.metadata['depth']:
            scaled_m = self._depth_scale * reduced_depth(depth_m, size_px)[part]
        seen = input_channels(np.ascontiguousarray(small), scaled_m)
        return tuple(part[0] for part in self._network.run(OUTPUTS, {INPUT: seen[None]}))

    def detect(
        self,
        rgb: np.ndarray,
        depth_m: np.ndarray,
        min_score: float | None = None,
        window: Window | None = None,
    ) -> tuple[Detections, np.ndarray]:
        """Return the instances and prototypes of one image; outside the window they are 0.

        Args:
            rgb: Shape (h, w, 3), uint8.
            depth_m: Aligned depth [m], 0 where there is none, shape (h, w); unused by a network for
                colour only.
            min_score: Least probability of a class; None: by the metadata.
            window: Part of the network's input that it looks at, of `window_about`; None: all.
        """
        boxes, scores, coefficients, prototypes = self.raw(rgb, depth_m, window)
        least = self.metadata['min_score'] if min_score is None else min_score
        if window is None:
            return postprocess(
                boxes, scores, coefficients, self._anchors, self.layout, least
            ), prototypes
        found = postprocess(
            boxes, scores, coefficients, self._window_anchors, self._window_layout, least
        )
        row, column = (side.start for side in window)
        height, width = (n // STRIDE_PX for n in (self.layout.height_px, self.layout.width_px))
        whole = np.zeros((len(prototypes), height, width), np.float32)
        v, u = (slice(side.start // STRIDE_PX, side.stop // STRIDE_PX) for side in window)
        whole[:, v, u] = prototypes
        return replace(found, boxes=found.boxes + [column, row, column, row]), whole

    def mask(
        self, found: Detections, prototypes: np.ndarray, i: int, shape: tuple[int, int]
    ) -> tuple[np.ndarray, int, int]:
        """Return the mask of instance i in an image of shape (h, w), its first row and column."""
        return assemble(prototypes, found.coefficients[i], found.boxes[i], self.layout, shape)


def shipped_for(paint_rgb: Paint) -> Path:
    """Return the shipped network for rings of a paint, 0..1 each: one of two."""
    return SHIPPED if is_coloured(paint_rgb) else SHIPPED_FOR_GREY


def _check_paint(
    path: Path, paint_rgb: Paint, known_rgb: Paint, darkest_grey: float | None
) -> None:
    same = np.allclose(paint_rgb, known_rgb)
    if not same and not is_coloured(known_rgb):
        why = f'knows only the grey paint {tuple(known_rgb)}'
    elif same or is_coloured(paint_rgb):
        return
    elif darkest_grey is None:
        why = 'finds no grey, white or black one'
    elif np.mean(paint_rgb) < darkest_grey:
        why = f'finds no black or grey one whose mean is below {darkest_grey:g}'
    else:
        return
    raise VisionError(
        f'colour_rgb {tuple(paint_rgb)} of the ring: network {path.name} {why}: paint the ring in '
        'a full colour, or train a network with `softarm train ring-segmenter --robot FILE`'
    )


def _session(content: bytes) -> onnxruntime.InferenceSession:
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = THREADS
    # Otherwise its threads keep a core busy after a picture.
    options.add_session_config_entry('session.force_spinning_stop', '1')
    return onnxruntime.InferenceSession(content, options, providers=['CPUExecutionProvider'])
