"""Errors of this package."""

from soft_arm_control.outcome import Outcome
from soft_arm_io.errors import InputError


class ControlError(InputError):
    """Base of the errors; each message is one line with value, unit, limit and remedy."""


class IdentificationError(ControlError):
    """Measurement from which no parameters can be identified."""


class ExperimentError(ControlError):
    """Experiment that cannot run, or run that cannot be evaluated."""


class PathFileError(ControlError):
    """Invalid file of a tip path."""


class NothingOffersError(ControlError):
    """Action or service that no node offers, or whose server does not answer."""


class MessageError(ControlError):
    """Unusable message: a value, frame, stamp or array size is wrong."""


class GoalError(ControlError):
    """Rejected goal; the action reports `outcome`."""

    outcome = Outcome.INVALID_GOAL


class OutsideWorkspaceError(GoalError):
    """Target outside the workspace of the model."""

    outcome = Outcome.OUTSIDE_WORKSPACE


class OutsideViewError(GoalError):
    """Target that the camera, which measures the tip, does not see."""

    outcome = Outcome.OUTSIDE_VIEW


class FrameError(GoalError):
    """Target in a frame without a known transform to the arm's base frame."""

    outcome = Outcome.TF_ERROR


class IkUnavailableError(GoalError):
    """Goal that needs inverse kinematics while no node offers it."""

    outcome = Outcome.IK_UNAVAILABLE


class DriverLostError(GoalError):
    """Goal while no measured pressures arrive to start from."""

    outcome = Outcome.DRIVER_LOST


class TakenError(GoalError):
    """Goal while another node commands the same chambers."""

    outcome = Outcome.TAKEN


class TipPoseError(GoalError):
    """Goal while the measured tip position contradicts the model."""

    outcome = Outcome.TIP_LOST
