"""Parser of request forms with limits on size."""

import urllib.parse

from aiohttp import web

from abb_rws_emulator import refusals
from abb_rws_emulator.refusals import Refused

MAX_FORM_SIZE, MAX_FIELDS = 1 << 18, 4000
"""Limits of a form [bytes] and of its fields; the event loop parses it in a few milliseconds."""


def fields_of(request: web.Request, content: bytes, generation: int) -> dict[str, str]:
    """Return the fields of a request by name; empty if the request has no form.

    Raises:
        Refused: If the content is not a form, or too large.
    """
    if request.method != 'POST':
        return {}
    typed = request.headers.get('Content-Type', '').startswith('application/x-www-form-urlencoded')
    if not typed and (content or generation == 2):  # IRC5 accepts an empty form of any type
        raise Refused(415, -1073445879, 'Unsupported media type')
    return {name: values[-1] for name, values in parsed(content).items()}


def parsed(content: bytes) -> dict[str, list[str]]:
    """Return the values of each field of a form.

    Raises:
        Refused: If the form is too large or not UTF-8.
    """
    if len(content) > MAX_FORM_SIZE:
        raise Refused(413, -1073445879, f'Form larger than {MAX_FORM_SIZE} bytes')
    try:
        return urllib.parse.parse_qs(
            content.decode(), keep_blank_values=True, errors='strict', max_num_fields=MAX_FIELDS
        )
    except ValueError:  # includes UnicodeDecodeError
        raise refusals.invalid(f'Form is not UTF-8 or has over {MAX_FIELDS} fields') from None
