"""Forms that requests carry, within limits of size."""

import urllib.parse

from aiohttp import web

from abb_rws_emulator import refusals
from abb_rws_emulator.refusals import Refused
from abb_rws_emulator.worker_thread import in_worker_thread

LARGEST_FORM, MOST_FIELDS, LONGEST_FIELD = 1 << 20, 4000, 2000
"""A form's size [bytes], its count of fields, and the length of a field."""
LONG_FIELDS = {'text', 'value'}
"""Fields that may be longer: the text of a module and the literal of a value."""


async def fields_of(
    request: web.Request, path: str, content: bytes, generation: int
) -> dict[str, str]:
    """Return the fields of a request by their names; empty where the request has no form.

    Raises:
        Refused: If the content is no form, or one of its fields is too long.
    """
    if request.method not in ('POST', 'PUT') or (
        request.method == 'PUT' and path.startswith('/fileservice/')
    ):
        return {}
    typed = request.headers.get('Content-Type', '').startswith('application/x-www-form-urlencoded')
    if not typed and (content or generation == 2):  # IRC5 takes an empty form of any type
        raise Refused(415, -1073445879, 'Unsupported media type')
    form = {name: values[-1] for name, values in (await parsed(content)).items()}
    for name, value in form.items():
        if len(name) > LONGEST_FIELD or (len(value) > LONGEST_FIELD and name not in LONG_FIELDS):
            raise refusals.invalid(f'Field {name[:40]} is longer than {LONGEST_FIELD} characters')
    return form


async def parsed(content: bytes) -> dict[str, list[str]]:
    """Return the values of each field of a form; a large form is parsed in the worker thread.

    Raises:
        Refused: If the form is too large, or not UTF-8.
    """
    if len(content) > LARGEST_FORM:
        raise Refused(413, -1073445879, f'A form has at most {LARGEST_FORM} bytes')
    return _parse(content) if len(content) < 10_000 else await in_worker_thread(_parse, content)


def _parse(content: bytes) -> dict[str, list[str]]:
    try:
        return urllib.parse.parse_qs(
            content.decode(), keep_blank_values=True, errors='strict', max_num_fields=MOST_FIELDS
        )
    except ValueError:  # UnicodeDecodeError is one
        raise refusals.invalid(f'A form is UTF-8 text of at most {MOST_FIELDS} fields') from None
