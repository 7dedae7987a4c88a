"""What the server does with a page's command: check it, pass it on, answer."""

import logging
from inspect import isawaitable

from soft_arm_twin.controls import Control
from soft_arm_twin.errors import TwinError
from soft_arm_twin.source import Answer, Source

MAX_UNDER_WAY = 16  # per page
_LOGGER = logging.getLogger(__name__)


def refusal(
    control: Control | None, name: str, page: str, owner: str | None, under_way: int
) -> str:
    """Return why a page may not use a control now, empty if it may."""
    if control is None:
        return f'{name!r} is no control'
    if control.always:
        return ''
    if control.needs_control and owner != page:
        return f'{control.label}: take control first' + (f'; {owner} has it' if owner else '')
    if not control.enabled:
        return f'{control.label}: {control.reason or "not now"}'
    if under_way >= MAX_UNDER_WAY:
        return f'{control.label}: {under_way} commands are under way, wait for one'
    return ''


async def carry_out(source: Source, control: Control, value: object, owner: bool) -> Answer:
    """Check a value and pass it on; an error of the source becomes an answer.

    This is the outermost guard of what a page can reach: whatever it sends, the server goes on.
    """
    try:
        answer = source.command(control.name, control.checked(value), owner)
        return await answer if isawaitable(answer) else answer
    except TwinError as error:
        return Answer(accepted=False, text=str(error))
    except Exception:
        _LOGGER.exception('command %s failed', control.name)
        return Answer(accepted=False, text=f"{control.label}: failed, see the twin's log")
