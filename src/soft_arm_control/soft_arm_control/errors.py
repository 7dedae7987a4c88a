"""Errors of this package."""

from soft_arm_control.outcome import Outcome


class ControlError(ValueError):
    """Base of the errors: the message is one line with value, unit, limit and remedy."""


class IdentificationError(ControlError):
    """A measurement from which no parameters can be identified."""


class ExperimentError(ControlError):
    """An experiment that cannot run, or a run that cannot be evaluated."""


class PathFileError(ControlError):
    """A file that does not hold a path of the tip."""


class NothingOffersError(ControlError):
    """An action or a service that no node offers, or whose server does not answer."""


class MessageError(ControlError):
    """A message that cannot be used: a value, frame, stamp or array size is wrong."""


class GoalError(ControlError):
    """A goal that is rejected; `outcome` is what the action reports."""

    outcome = Outcome.INVALID_GOAL


class OutsideWorkspaceError(GoalError):
    """A target outside the workspace of the model."""

    outcome = Outcome.OUTSIDE_WORKSPACE


class FrameError(GoalError):
    """A target in a frame from which no transform to the arm's base frame is known."""

    outcome = Outcome.TF_ERROR


class IkUnavailableError(GoalError):
    """A goal that needs inverse kinematics while no node offers it."""

    outcome = Outcome.IK_UNAVAILABLE


class DriverLostError(GoalError):
    """A goal while no measured pressures arrive to start from."""

    outcome = Outcome.DRIVER_LOST


class TakenError(GoalError):
    """A goal while another node commands the same chambers."""

    outcome = Outcome.TAKEN


class TipPoseError(GoalError):
    """A goal while the measured ring position contradicts the model."""

    outcome = Outcome.TIP_LOST
