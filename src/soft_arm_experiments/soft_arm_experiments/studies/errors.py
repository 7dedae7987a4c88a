"""Error of a study."""


class StudyError(ValueError):
    """A study that cannot be run as its file, its options or its folder stand; one line."""
