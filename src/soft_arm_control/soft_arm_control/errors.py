"""Errors of this package."""

from soft_arm_control.outcome import Outcome


class ControlError(ValueError):
    """Base: one line with value, unit, limit and remedy."""


class IdentificationError(ControlError):
    """A measurement from which nothing can be identified."""


class ExperimentError(ControlError):
    """An experiment that cannot run, or a run that cannot be scored."""


class PathFileError(ControlError):
    """A file that holds no path of the tip."""


class NothingOffersError(ControlError):
    """An action or a service that no node offers, or that does not answer."""


class MessageError(ControlError):
    """A message that cannot be used: not finite, of another frame, of another time, or of the wrong size."""


class GoalError(ControlError):
    """A goal that cannot be taken; `outcome` says how it ends."""

    outcome = Outcome.INVALID_GOAL


class OutsideWorkspaceError(GoalError):
    """A target that the model does not reach."""

    outcome = Outcome.OUTSIDE_WORKSPACE


class FrameError(GoalError):
    """A target in a frame from which no transform to the arm's base frame is known."""

    outcome = Outcome.TF_ERROR


class IkUnavailableError(GoalError):
    """A goal that needs inverse kinematics while nobody offers it."""

    outcome = Outcome.IK_UNAVAILABLE


class DriverLostError(GoalError):
    """A goal without measured pressures to start from."""

    outcome = Outcome.DRIVER_LOST


class TakenError(GoalError):
    """A goal while another node commands the same actuators."""

    outcome = Outcome.TAKEN


class RingError(GoalError):
    """A goal while the camera and the model contradict each other."""

    outcome = Outcome.RING_LOST
