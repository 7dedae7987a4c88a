"""Structure of an arm for models: its sections and their inputs."""

from typing import Annotated, Literal

import numpy as np
from pydantic import Field

from soft_arm_description.robot import Robot
from soft_arm_identification.errors import RecordingError
from soft_arm_identification.recording import Recording
from soft_arm_io.fields import Number, Strict, Word


class Section(Strict):
    """One bending section.

    Attributes:
        inputs: Names of the inputs that bend or lengthen it; empty: all.
        end: Point of the recordings at its end; None where it is not measured.
    """

    inputs: list[Word] = []
    end: Word | None = None


class ArmSections(Strict):
    """The sections of an arm, from base to tip.

    Attributes:
        drive: Whether models get the measured inputs, where there are some, or the commanded ones.
        base_m: Position of the base in the frame of the recordings [m].
        axis: Direction of the straight arm in that frame; None: from the base to the tip's position
            of the smallest inputs.
        at_rest: Whether every sample was taken at rest, so that no motion lies between them.
    """

    sections: Annotated[list[Section], Field(min_length=1, max_length=20)]
    drive: Literal['measured', 'commanded'] = 'measured'
    base_m: tuple[Number, Number, Number] = (0.0, 0.0, 0.0)
    axis: tuple[Number, Number, Number] | None = None
    at_rest: bool = False

    def is_measured(self, recording: Recording) -> bool:
        """Return whether models get measured inputs of a recording."""
        return self.drive == 'measured' and bool(recording.measured.names)

    def driving(self, recording: Recording) -> tuple[tuple[str, ...], tuple[str, ...], np.ndarray]:
        """Return names, units and values (n, k) of the inputs that models get.

        Raises:
            RecordingError: If the recording has none.
        """
        channels = recording.measured if self.is_measured(recording) else recording.inputs
        if not channels.names:
            raise RecordingError(f'{recording.name}: no inputs: a model needs at least one')
        return channels.names, channels.units, channels.values


def arm_of_robot(robot: Robot) -> ArmSections:
    """Return the sections of a robot file: one for each segment, with its coordinates as inputs."""
    return ArmSections(
        sections=[Section(inputs=[c.name for c in s.coordinates]) for s in robot.segments],
        axis=(0.0, 0.0, 1.0),
    )
