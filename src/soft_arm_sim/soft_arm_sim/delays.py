"""Delays of a rig's devices: modelled in simulated time only, never on the wall clock."""

from pathlib import Path

from soft_arm_physics.parameter_file import NotNegative, Strict, load_parameters
from soft_arm_sim.cameras.parameters import CONFIG


class Delays(Strict):
    """How late camera, image processing and valves are [s]."""

    exposure_to_host_s: NotNegative
    processing_s: NotNegative
    drive_to_valve_s: NotNegative

    @property
    def image_s(self) -> float:
        """Time from the exposure of an image until its ring pose may be used [s]."""
        return self.exposure_to_host_s + self.processing_s


def load_delays(path: str | Path = CONFIG / 'delays.yaml') -> Delays:
    """Read a file of delays; see `parameter_file.load_parameters` for errors."""
    return load_parameters(Delays, path)
