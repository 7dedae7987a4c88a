"""Why a transform cannot be given."""


class TransformException(Exception):
    """Base of the errors of this package."""


class LookupException(TransformException):
    """A frame is not known."""


class ConnectivityException(TransformException):
    """Both frames are known but nothing connects them."""


class ExtrapolationException(TransformException):
    """The time asked for lies outside what has been received."""


class InvalidArgumentException(TransformException):
    """A frame name is empty."""
