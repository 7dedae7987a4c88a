"""Errors of this package."""


class ControlError(ValueError):
    """Base: one line with value, unit, limit and remedy."""


class GoalError(ControlError):
    """A goal that cannot be taken: not finite, unknown segment, wrong number of lengths."""


class CalibrationError(ControlError):
    """A dynamics file that is missing or unusable, or a measurement that no dynamics can be identified from."""


class ExperimentError(ControlError):
    """An experiment that cannot run, or a run that cannot be scored."""


class OutsideWorkspaceError(GoalError):
    """A target that the model does not reach."""


class DriverLostError(GoalError):
    """A goal without measured pressures to start from."""
