"""Error of studies."""


class StudyError(ValueError):
    """Invalid study file, options or folder; the message is one line."""
