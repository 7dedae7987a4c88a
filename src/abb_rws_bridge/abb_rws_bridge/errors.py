"""Errors of a controller, typed by the possible reaction of the caller.

Controllers reuse codes, so `classify` considers status, code and message.
"""

import logging
import re

_log = logging.getLogger(__name__)
_MAX_MESSAGE_LENGTH = 300
_UNPRINTABLE = re.compile('[\0\ud800-\udfff]')


class RwsError(RuntimeError):
    """Base of all errors of this package; the message is one printable line.

    Attributes:
        status: HTTP status, None without a response.
        code: Return code of the controller, None without one.
    """

    def __init__(self, message: str, *, status: int | None = None, code: int | None = None):
        line = ' '.join(message.split())
        if len(line) > _MAX_MESSAGE_LENGTH:
            line = line[: _MAX_MESSAGE_LENGTH - 3] + '...'
        super().__init__(''.join(c if c.isprintable() else '\ufffd' for c in line))
        self.status, self.code = status, code


class ConfigurationError(RwsError, ValueError):
    """Invalid input; nothing was sent."""


class Unreachable(RwsError):
    """No connection; nothing was sent."""


class ConnectionLost(RwsError):
    """The connection broke before the response was complete."""


class TimedOut(RwsError):
    """The response was not complete in time."""


class OutcomeUnknown(RwsError):
    """A write without a response, which may or may not have been executed.

    Read back before writing again.
    """


class BadResponse(RwsError):
    """A response that violates Robot Web Services (truncated, HTML, wrong fields)."""


class InternalError(RwsError):
    """A defect of this package; earlier requests may have been executed."""


class NotAuthorised(RwsError):
    """The controller does not accept user and password."""


class Busy(RwsError):
    """No free session, or too many requests: wait and try again."""


class Rejected(RwsError):
    """The controller refused the request; the subclasses say why."""


class MastershipHeld(Rejected):
    """Another client holds the mastership."""


class MastershipMissing(Rejected):
    """The write requires a mastership that this session does not hold."""


class WrongMode(Rejected):
    """Not allowed in the current operation mode."""


class WrongState(Rejected):
    """Not allowed in the current execution state (motors off, already running, ...)."""


class NoProgramPointer(WrongState):
    """No program pointer, or the robot is off the path: reset the pointer."""


class AccessDenied(Rejected):
    """The signal's access level or the user's grants do not allow it."""


class NotFound(Rejected):
    """No such symbol, signal, task, module or file."""


class InvalidArgument(Rejected):
    """The controller does not accept a value."""


class LimitReached(Rejected):
    """A limit of the controller is reached (subscription groups, resources)."""


class ControllerFault(Rejected):
    """System failure or backup in progress."""


_BY_CODE = {
    -1073445862: MastershipHeld,  # SYS_CTRL_E_RESOURCE_HELD
    -1073445859: MastershipMissing,  # MASTER_REJECT
    -1073445880: MastershipMissing,  # RESOURCE_NOT_HELD
    -1073435873: MastershipMissing,  # no write access (RobotWare 8)
    -1073445860: WrongMode,  # MODE_REJECT
    -1073435895: WrongMode,  # NOT_MANUAL_MODE
    -1073442809: WrongState,  # EXEC_STATE
    -1073442808: WrongState,  # TASK_STATE
    -1073442806: WrongState,  # EXEC_LEVEL
    -1073442783: NoProgramPointer,  # NO_PP
    -1073442807: NoProgramPointer,  # NOT_ON_PATH
    -1073445881: AccessDenied,  # REJECT: signal access level, safety
    -1073445867: AccessDenied,  # UAS_REJECT
    -1073445863: AccessDenied,  # DENIED
    -1073442786: AccessDenied,  # SYMBOL_NOT_PERSISTENT
    -1073445866: NotFound,  # UNRESOLVED_URL: unknown signal
    -1073438713: NotFound,  # path does not exist
    -1073438716: NotFound,  # virtual root does not exist
    -1073442813: NotFound,  # unknown module
    -1073445879: InvalidArgument,
    -1073442803: InvalidArgument,  # RAPID_SYNTAX_ERROR
    -1073436654: InvalidArgument,  # POSE_OUTSIDE_REACH
    -1073438708: NotFound,  # FILE_NOT_FOUND
    -1073445871: LimitReached,  # MAX_LIMIT
    -1073445851: ControllerFault,  # system failure
    -1073445858: ControllerFault,  # backup in progress
}
_AMBIGUOUS = {-1073414146, -1073442816}
"""Codes (plain failure, old "org_code") used for several errors; the message decides."""
_NOT_FOUND = re.compile(
    r'not found|does not exist|unknown (module|symbol|signal)|org_code: -517', re.IGNORECASE
)


def classify(status: int, code: int | None, message: str) -> type[RwsError]:
    """Return the error type of a response with status >= 400."""
    if status == 401:
        return NotAuthorised
    if status in (429, 503):
        return Busy
    if status >= 500 and code is None:
        return BadResponse
    if code == -1073445866 and 'held by someone' in message:
        return MastershipHeld
    if code in _BY_CODE:
        return _BY_CODE[code]
    if code in _AMBIGUOUS and (status == 404 or _NOT_FOUND.search(message)):
        return NotFound
    if status in (404, 410):
        return NotFound
    return Rejected


def defect(error: Exception, where: str) -> InternalError:
    """Log an unexpected exception with its traceback, and return it as an RwsError."""
    _log.error('internal error (%s)', where, exc_info=error)
    return InternalError(f'internal error ({where}): {error!r}')


def printable(text: str) -> str:
    """Return a text with NUL and lone surrogates replaced, which ROS messages cannot hold.

    They originate from JSON escapes and headers.
    """
    return _UNPRINTABLE.sub('\ufffd', text)


def short(message: str) -> str:
    """Return the text of a controller message without source file and codes."""
    text = re.sub(r'^.*?\.cpp\[\d+\]:?\s*', '', message.replace('\n', ' '))
    text = re.sub(r'\s*(code:)?\s*-\d{6,}\s*(icode:)?\s*-\d+\s*$', '', text)
    return re.sub(r'\s+', ' ', text).strip()[:200]
