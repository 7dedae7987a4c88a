"""Kinds of segments in a robot file: what each is driven by, its limits, its size and its physics.

Every kind has `coordinates`: what sets its shape, in the order of the configuration q, each with
name, SI unit and limits. Segments that name the same chamber share its pressure, which is one
coordinate.
"""

from typing import Annotated

from pydantic import Field

from soft_arm_description.segments.bellows import Bellows, BellowsSegment, PressureLength
from soft_arm_description.segments.physics import (
    Disc,
    Friction,
    Material,
    MissingPhysicsError,
    Stiffness,
)
from soft_arm_description.segments.pressure_bends import ModalSegment, SingleBendSegment
from soft_arm_description.segments.tendons import TendonSegment
from soft_arm_description.segments.torques import Hinge, TorqueSegment
from soft_arm_description.segments.values import Coordinate, Name
from soft_arm_io.fields import Strict

Segment = Annotated[
    BellowsSegment | SingleBendSegment | ModalSegment | TendonSegment | TorqueSegment,
    Field(discriminator='kind'),
]
KINDS = ('bellows', 'single_bend', 'modal', 'tendon', 'torque')

__all__ = [
    'KINDS',
    'Bellows',
    'BellowsSegment',
    'Coordinate',
    'Disc',
    'Friction',
    'Hinge',
    'Material',
    'MissingPhysicsError',
    'ModalSegment',
    'Name',
    'PressureLength',
    'Segment',
    'SingleBendSegment',
    'Stiffness',
    'Strict',
    'TendonSegment',
    'TorqueSegment',
]
