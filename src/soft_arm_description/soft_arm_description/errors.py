"""Base of the errors of robot files, rigs and calibration files."""


class DescriptionError(ValueError):
    """A robot file, a rig or a calibration file cannot be used; the message says what to do."""
