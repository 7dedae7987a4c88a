"""Virtual devices, which the simulators offer as entry points.

A rig's installation has no simulator, so nothing here imports one.
"""

from importlib.metadata import entry_points
from typing import Any

from soft_arm_vision.errors import VisionError

GROUP = 'soft_arm.virtual_devices'


def virtual_device(name: str) -> Any:
    """Return what the entry point of this name offers.

    Raises:
        VisionError: If no installed package offers it.
    """
    for point in entry_points(group=GROUP, name=name):
        return point.load()
    raise VisionError(
        f'no installed package simulates the {name} of a virtual rig: install '
        'soft_arm_experiments, or calibrate a real rig'
    )
