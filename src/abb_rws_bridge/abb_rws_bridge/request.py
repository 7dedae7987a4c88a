"""Request, response, and the errors of responses that do not confirm a request."""

from dataclasses import dataclass, field

from abb_rws_bridge import body
from abb_rws_bridge.errors import BadResponse, Busy, OutcomeUnknown, RwsError, classify, short


@dataclass(frozen=True)
class Request:
    """Request: path from the root, query, form.

    Attributes:
        urgent: It stops the robot and overtakes queued requests.
        success: Documented success statuses; empty for 200 (read) or 204 (write). Any other status
            is an error.
    """

    method: str
    path: str
    query: dict[str, str] = field(default_factory=dict)
    form: dict[str, str] | list[tuple[str, str]] | None = None
    urgent: bool = False
    success: tuple[int, ...] = ()

    @property
    def succeeds_with(self) -> tuple[int, ...]:
        """Success statuses."""
        return self.success or ((200,) if self.method == 'GET' else (204,))


@dataclass(frozen=True)
class Response:
    """Response, start of its request (monotonic clock [s]) and number of its session."""

    document: body.Document
    headers: dict[str, str]
    asked_s: float
    generation: int


def unanswered(request: Request, kind: type[RwsError], message: str) -> RwsError:
    """Return the error of a request without a valid response: a write may have been executed."""
    if request.method == 'GET':
        return kind(message)
    return OutcomeUnknown(f'{message}; it may have been executed: read back before trying again')


def refusal(request: Request, status: int, content: bytes) -> RwsError:
    """Return the error of a response that does not confirm the request."""
    where = f'{request.method} {request.path}'
    if status in (429, 503):
        return Busy(
            f'{where}: the controller has no free session or too many requests ({status}): wait',
            status=status,
        )
    if status < 400 and status not in request.succeeds_with:
        expected = ' or '.join(map(str, request.succeeds_with))
        message = f'{where}: responded with HTTP {status} instead of {expected}'
        if 200 <= status < 300:
            return unanswered(request, BadResponse, message)
        return BadResponse(f'{message}: check host and port', status=status)
    try:
        document = body.parse(content)
    except RwsError:
        document = body.Document(message=content[:80].decode('ascii', errors='replace'))
    kind = classify(status, document.code, document.message)
    return kind(
        f'{where}: {short(document.message) or "refused"} (HTTP {status}, code {document.code})',
        status=status,
        code=document.code,
    )
