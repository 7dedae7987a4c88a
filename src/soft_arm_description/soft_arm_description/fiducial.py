"""Square markers on a robot's tip, from which a camera measures the tip's pose."""

from typing import Annotated, Literal, Self

import numpy as np
from pydantic import Field, model_validator
from scipy.spatial.transform import Rotation as Turn

from soft_arm_description.segments.values import Position, Radius, Rotation, check_unique
from soft_arm_io.fields import Strict, number

Dictionary = Literal[
    'DICT_APRILTAG_16h5',
    'DICT_APRILTAG_25h9',
    'DICT_APRILTAG_36h11',
    'DICT_4X4_50',
    'DICT_5X5_50',
    'DICT_6X6_50',
    'DICT_7X7_50',
    'DICT_ARUCO_ORIGINAL',
]
"""Names that OpenCV gives to families of markers."""

# One more than the largest id.
_SIZES = {'DICT_APRILTAG_16h5': 30, 'DICT_APRILTAG_25h9': 35, 'DICT_APRILTAG_36h11': 587}
_SIZES |= {'DICT_ARUCO_ORIGINAL': 1024}
_USUAL_SIZE = 50
# Of id 0, rows of bits from the upper left; source: https://github.com/AprilRobotics/apriltag, 2.x
_APRILTAG_CODES = {
    'DICT_APRILTAG_16h5': 0x231B,
    'DICT_APRILTAG_25h9': 0x155CBF1,
    'DICT_APRILTAG_36h11': 0xD5D628584,
}


class Marker(Strict):
    """Pose of one marker in the tip frame: z points out of it, x along its upper edge, y up."""

    id: Annotated[int, number(0, 1023, '', int)]
    position_m: Position
    rpy_deg: Rotation


class Fiducial(Strict):
    """Markers of one dictionary and size on the tip; `size_m` is the side of the black square.

    Each stands on a white plate that is `PLATE` times as wide. `printed_from` states which edge of
    an AprilTag is the upper one: that of the pictures of the AprilTag project (`apriltag`), or of
    those that OpenCV 4 and 5.0 generate (`opencv`), which are turned by 180 deg.
    """

    dictionary: Dictionary
    printed_from: Literal['apriltag', 'opencv'] | None = None
    size_m: Radius
    markers: Annotated[tuple[Marker, ...], Field(min_length=1, max_length=50)]

    @model_validator(mode='after')
    def _check(self) -> Self:
        check_unique('id', [str(marker.id) for marker in self.markers])
        is_apriltag = 'APRILTAG' in self.dictionary
        if is_apriltag != (self.printed_from is not None):
            raise ValueError(
                'printed_from: give apriltag, for pictures of the AprilTag project, or opencv, for '
                'pictures of OpenCV, which are rotated by 180 deg'
                if is_apriltag
                else f'printed_from: {self.dictionary} has one picture of each id; remove the key'
            )
        size = _SIZES.get(self.dictionary, _USUAL_SIZE)
        for marker in self.markers:
            if marker.id >= size:
                raise ValueError(
                    f'markers: {self.dictionary} has no id {marker.id}: its ids are 0..{size - 1}'
                )
        return self

    def quarter_turns(self, generated: np.ndarray) -> int:
        """Return the turns by 90 deg, counter-clockwise, from generated pictures to printed ones.

        Args:
            generated: Cells of id 0, with one black cell around them, as generated; True: white.
        """
        generated = generated[1:-1, 1:-1]
        code = _APRILTAG_CODES.get(self.dictionary)
        if code is None:
            return 0
        official = np.reshape([*f'{code:0{generated.size}b}'], generated.shape) == '1'
        turns = [np.array_equal(np.rot90(generated, k), official) for k in range(4)].index(True)
        return turns + 2 * (self.printed_from == 'opencv')

    def T_tip_marker(self, marker: Marker) -> np.ndarray:
        """Return the pose of a marker in the tip frame, shape (4, 4)."""
        T = np.eye(4)
        T[:3, :3] = Turn.from_euler('xyz', marker.rpy_deg, degrees=True).as_matrix()
        T[:3, 3] = marker.position_m
        return T

    @property
    def corners_m(self) -> dict[int, np.ndarray]:
        """Corners of each marker by its id, in the tip frame [m], (4, 3).

        They begin at the upper left one and go clockwise as one looks at the marker.
        """
        half_m = self.size_m / 2
        square = np.array([[-1, 1, 0], [1, 1, 0], [1, -1, 0], [-1, -1, 0]]) * half_m
        poses = {marker.id: self.T_tip_marker(marker) for marker in self.markers}
        return {i: square @ T[:3, :3].T + T[:3, 3] for i, T in poses.items()}


PLATE = 1.3
