"""Delays of a rig's devices in simulated time."""

from pathlib import Path

from soft_arm_io.fields import NonNegative, Strict
from soft_arm_physics.parameter_file import load_parameters
from soft_arm_sim.cameras.parameters import CONFIG


class Delays(Strict):
    """Delays of camera, image processing and valves [s]."""

    exposure_to_host_s: NonNegative
    processing_s: NonNegative
    drive_to_valve_s: NonNegative

    @property
    def image_s(self) -> float:
        """Time from the exposure of an image until its tip pose may be used [s]."""
        return self.exposure_to_host_s + self.processing_s


def load_delays(path: str | Path = CONFIG / 'delays.yaml') -> Delays:
    """Read a file of delays; see `parameter_file.load_parameters` for errors."""
    return load_parameters(Delays, path)
