"""Scene of a page: parts whose vertices follow affine frames.

A vertex `v` with the local coordinates `l_a` and `l_b` in the frames `a` and `b` is drawn at
`v = (1 - s) (A_a l_a) + s (A_b l_b)`: linear blend skinning with two bones. A rigid body follows
one frame, so its share `s` is 0. The browser does this sum; per picture the server sends frames
only. The world's `+z` points up.
"""

from dataclasses import dataclass, field
from typing import Literal, Self

import numpy as np

from soft_arm_twin.errors import SceneError

Kind = Literal['surface', 'points', 'line']
Marker = Literal['none', 'sphere', 'cube', 'cone', 'ring', 'cross', 'diamond', 'dashed']


def _no_triangles() -> np.ndarray:
    return np.zeros((0, 3), np.uint32)


@dataclass(frozen=True, eq=False)
class Part:
    """A surface, points, or a line (one strip through all vertices in their order).

    Attributes:
        name: Displayed name, unique in its scene.
        group: Group whose parts are shown and hidden together.
        colour_rgb: Red, green and blue, each in 0..1 (sRGB).
        frame_a: Index of the frame that carries a vertex, shape (n,).
        frame_b: Index of the second frame, shape (n,).
        share_b: Share of the second frame, shape (n,), in 0..1.
        local_a_m: Vertices in their frame a [m], shape (n, 3).
        local_b_m: Vertices in their frame b [m], shape (n, 3).
        triangles: Indices of vertices, shape (m, 3), counter-clockwise from outside; surfaces only.
        kind: Interpretation of the vertices.
        opacity: 1.0: opaque; less: see-through, as ghosts are.
        selectable: True if a click shows its name and the age of its data.
        source: Name of the `Age` of the data that moves this part, or empty. The page draws the
            part grey and striped while that data is older than its limit.

    Raises:
        SceneError: If shapes disagree, a number is not finite, or an index is out of range.
    """

    name: str
    group: str
    colour_rgb: tuple[float, float, float]
    frame_a: np.ndarray
    frame_b: np.ndarray
    share_b: np.ndarray
    local_a_m: np.ndarray
    local_b_m: np.ndarray
    triangles: np.ndarray = field(default_factory=_no_triangles)
    kind: Kind = 'surface'
    opacity: float = 1.0
    selectable: bool = False
    source: str = ''

    def __post_init__(self) -> None:
        n = len(self.local_a_m)
        for name, shape in (
            ('frame_a', (n,)),
            ('frame_b', (n,)),
            ('share_b', (n,)),
            ('local_a_m', (n, 3)),
            ('local_b_m', (n, 3)),
        ):
            array = getattr(self, name)
            if array.shape != shape:
                raise SceneError(f'part {self.name}: {name} has shape {array.shape}, not {shape}')
            if not np.isfinite(array).all():
                raise SceneError(f'part {self.name}: {name} holds a number that is not finite')
        if n == 0:
            raise SceneError(f'part {self.name}: no vertices')
        if self.share_b.min() < 0 or self.share_b.max() > 1:
            raise SceneError(f'part {self.name}: share_b leaves 0..1')
        if self.triangles.ndim != 2 or self.triangles.shape[1] != 3:
            raise SceneError(f'part {self.name}: triangles have shape {self.triangles.shape}')
        if (len(self.triangles) > 0) != (self.kind == 'surface'):
            raise SceneError(f'part {self.name}: a surface has triangles, a {self.kind} has none')
        if len(self.triangles) and not 0 <= self.triangles.min() <= self.triangles.max() < n:
            raise SceneError(f'part {self.name}: a triangle names a vertex outside of 0..{n - 1}')

    @classmethod
    def rigid(
        cls,
        name: str,
        group: str,
        colour_rgb: tuple[float, float, float],
        frame: int,
        vertices_m: np.ndarray,
        triangles: np.ndarray | None = None,
        *,
        kind: Kind = 'surface',
        opacity: float = 1.0,
        selectable: bool = False,
        source: str = '',
    ) -> Self:
        """Create a part whose vertices [m], shape (n, 3), all follow one frame."""
        index = np.full(len(vertices_m), frame)
        return cls(
            name,
            group,
            colour_rgb,
            index,
            index,
            np.zeros(len(vertices_m)),
            vertices_m,
            vertices_m,
            _no_triangles() if triangles is None else triangles,
            kind,
            opacity,
            selectable,
            source,
        )


@dataclass(frozen=True)
class LegendEntry:
    """Legend entry of a colour and a marker."""

    name: str
    colour_rgb: tuple[float, float, float]
    marker: Marker = 'none'


@dataclass(frozen=True)
class Camera:
    """Initial position and target of the view [m]."""

    eye_m: tuple[float, float, float] = (0.6, -0.6, 0.5)
    target_m: tuple[float, float, float] = (0.0, 0.0, 0.1)


@dataclass(frozen=True, eq=False)
class Scene:
    """All parts and the number of frames that move them.

    Raises:
        SceneError: If two parts have one name, or a part follows a frame that does not exist.
    """

    parts: tuple[Part, ...]
    n_frames: int
    legend: tuple[LegendEntry, ...] = ()
    camera: Camera = Camera()

    def __post_init__(self) -> None:
        names = [part.name for part in self.parts]
        for name in names:
            if names.count(name) > 1:
                raise SceneError(f'two parts are called {name}')
        for part in self.parts:
            for index in (part.frame_a, part.frame_b):
                if not 0 <= index.min() <= index.max() < self.n_frames:
                    raise SceneError(
                        f'part {part.name} follows frame {index.max()}; '
                        f'the scene has frames 0..{self.n_frames - 1}'
                    )
