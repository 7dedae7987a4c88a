"""A request, its response, and the errors of answers that do not confirm it."""

from dataclasses import dataclass, field

from abb_rws_bridge import body
from abb_rws_bridge.errors import BadResponse, Busy, OutcomeUnknown, RwsError, classify, short


@dataclass(frozen=True)
class Request:
    """A request: path from the root, query, form.

    Attributes:
        urgent: It stops the robot and does not queue.
        success: Documented statuses of success; any other one is an error. Empty takes 200 for a
            read and 204 for a write.
    """

    method: str
    path: str
    query: dict[str, str] = field(default_factory=dict)
    form: dict[str, str] | list[tuple[str, str]] | None = None
    urgent: bool = False
    success: tuple[int, ...] = ()

    @property
    def succeeds_with(self) -> tuple[int, ...]:
        """Statuses of success."""
        return self.success or ((200,) if self.method == 'GET' else (204,))


@dataclass(frozen=True)
class Response:
    """A response, the start of its request (monotonic clock [s]) and the number of its session."""

    document: body.Document
    headers: dict[str, str]
    asked_s: float
    generation: int


def unanswered(request: Request, kind: type[RwsError], message: str) -> RwsError:
    """Return the error of a request without a valid answer: a write may have been carried out."""
    if request.method == 'GET':
        return kind(message)
    return OutcomeUnknown(f'{message}; it may have been done: read back before trying again')


def refusal(request: Request, status: int, content: bytes) -> RwsError:
    """Return the error of an answer that does not confirm the request."""
    where = f'{request.method} {request.path}'
    if status in (429, 503):
        return Busy(
            f'{where}: the controller has no free session or too many requests ({status}): wait',
            status=status,
        )
    if status < 400 and status not in request.succeeds_with:
        expected = ' or '.join(map(str, request.succeeds_with))
        message = f'{where}: answered with HTTP {status} instead of {expected}'
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
