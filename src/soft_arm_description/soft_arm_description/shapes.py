"""Simple shapes of rigid bodies and their sizes, in robot, assembly and world files."""

from typing import Annotated, Literal

from pydantic import Field

from soft_arm_description.segments.values import Length

Shape = Literal['box', 'sphere', 'cylinder', 'capsule']
Size = Annotated[tuple[Length, ...], Field(min_length=1, max_length=3)]
SIZES = {
    'box': ('x', 'y', 'z'),
    'sphere': ('radius',),
    'cylinder': ('radius', 'length'),
    'capsule': ('radius', 'length'),
}
"""Entries of `size_m`; lengths are along z, and a capsule's length includes its round ends."""


def check_size(shape: str, size_m: tuple[float, ...]) -> None:
    """Raise ValueError if a size [m] does not fit the shape."""
    wanted = SIZES[shape]
    if len(size_m) != len(wanted):
        raise ValueError(
            f'size_m {list(size_m)}: a {shape} takes [{", ".join(wanted)}], {len(wanted)} number'
            f'{"s" if len(wanted) > 1 else ""}'
        )
    if shape == 'capsule' and not size_m[1] > 2 * size_m[0]:
        raise ValueError(
            f'size_m {list(size_m)}: the length {size_m[1]:g} m of a capsule includes its ends and '
            f'must be more than {2 * size_m[0]:g} m, two radii; or make it a sphere'
        )
