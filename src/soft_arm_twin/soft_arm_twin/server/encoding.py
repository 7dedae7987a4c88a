"""Encoding of scene, panel and arrays for a page. All numbers are little-endian."""

import base64
import json
import struct
import time
from dataclasses import is_dataclass
from math import isfinite
from typing import Any

import numpy as np

from soft_arm_twin.scene import Part, Scene
from soft_arm_twin.source import Cloud

FRAMES, IMAGE, CLOUD = 1, 2, 3
_HEADER = struct.Struct('<BdI')


def binary(kind: int, stamp_s: float, number: int, payload: bytes) -> bytes:
    """Prepend kind (uint8), present age [s] (float64) and number (uint32) to a payload."""
    return _HEADER.pack(kind, time.monotonic() - stamp_s, number % 2**32) + payload


def cloud_payload(cloud: Cloud) -> bytes:
    """Return number of points (uint32), points [m] (float32, n * 3), colours (uint8, n * 3)."""
    points_m = np.ascontiguousarray(cloud.points_m, '<f4')
    colours = np.ascontiguousarray(cloud.colours_rgb, np.uint8)
    return struct.pack('<I', len(points_m)) + points_m.tobytes() + colours.tobytes()


def text(kind: str, **content: object) -> str:
    """Return a JSON message; a number that is not finite becomes null."""
    message = {'type': kind, **content}
    try:
        return json.dumps(message, default=_fields, allow_nan=False, separators=(',', ':'))
    except ValueError:
        return json.dumps(_without_nan(message), allow_nan=False, separators=(',', ':'))


def _fields(thing: Any) -> object:
    if is_dataclass(thing):
        kind = getattr(thing, 'kind', None)
        return vars(thing) if kind is None else {'kind': kind, **vars(thing)}
    return thing.item()  # NumPy scalar


def _without_nan(thing: Any) -> object:
    if isinstance(thing, float):
        return thing if isfinite(thing) else None
    if isinstance(thing, dict):
        return {key: _without_nan(value) for key, value in thing.items()}
    if isinstance(thing, list | tuple):
        return [_without_nan(value) for value in thing]
    if thing is None or isinstance(thing, str | int):
        return thing
    return _without_nan(_fields(thing))


def scene_text(scene: Scene) -> str:
    """Return the message `scene`; arrays are base64, see `_part`."""
    return text(
        'scene',
        n_frames=scene.n_frames,
        parts=[_part(part) for part in scene.parts],
        legend=scene.legend,
        camera=scene.camera,
    )


def _part(part: Part) -> dict[str, object]:
    """Return a part; frame indices are uint16, vertex indices uint32, weights and vertices float32.

    The second frame is omitted if a part follows only one.
    """
    plain = ('name', 'group', 'colour_rgb', 'kind', 'opacity', 'selectable', 'source')
    fields: dict[str, object] = {name: getattr(part, name) for name in plain}
    fields['frame_a'] = _base64(part.frame_a, '<u2')
    fields['local_a_m'] = _base64(part.local_a_m, '<f4')
    fields['triangles'] = _base64(part.triangles, '<u4')
    if part.share_b.any():
        fields['frame_b'] = _base64(part.frame_b, '<u2')
        fields['share_b'] = _base64(part.share_b, '<f4')
        fields['local_b_m'] = _base64(part.local_b_m, '<f4')
    return fields


def _base64(array: np.ndarray, dtype: str) -> str:
    return base64.b64encode(np.ascontiguousarray(array, dtype).tobytes()).decode()
