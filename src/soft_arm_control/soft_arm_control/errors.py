"""Errors of this package."""


class ControlError(ValueError):
    """Base: one line with value, unit, limit and remedy."""


class GoalError(ControlError):
    """A goal that cannot be taken: not finite, unknown segment, wrong number of lengths."""


class IdentificationError(ControlError):
    """A measurement from which nothing can be identified."""


class ExperimentError(ControlError):
    """An experiment that cannot run, or a run that cannot be scored."""


class PathFileError(ControlError):
    """A file that holds no path of the tip."""


class NothingOffersError(ControlError):
    """An action or a service that no node offers, or that does not answer."""


class OutsideWorkspaceError(GoalError):
    """A target that the model does not reach."""


class DriverLostError(GoalError):
    """A goal without measured pressures to start from."""


class IkUnavailableError(GoalError):
    """A goal that needs inverse kinematics while nobody offers it."""


class TakenError(GoalError):
    """A goal while another node commands the same actuators."""


class RingError(GoalError):
    """A goal while the camera and the model contradict each other."""


class MessageError(ControlError):
    """A message that cannot be used: not finite, of another frame, of another time, or of the wrong size."""
