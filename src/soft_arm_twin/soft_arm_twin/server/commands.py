"""Checks and execution of the commands of a page."""

import logging
from inspect import isawaitable

from soft_arm_twin.controls import Control
from soft_arm_twin.errors import TwinError
from soft_arm_twin.source import Answer, Source

MAX_PENDING = 16  # per page
_LOGGER = logging.getLogger(__name__)


def refusal(
    control: Control | None, name: str, page: str, owner: str | None, under_way: int
) -> str:
    """Return the reason for which a page may not use a control now; empty if it may."""
    if control is None:
        return f'{name!r} is not a control'
    if control.always:
        return ''
    if control.needs_control and owner != page:
        return f'{control.label}: take control first' + (f'; {owner} has it' if owner else '')
    if control.reason:
        return f'{control.label}: {control.reason}'
    if under_way >= MAX_PENDING:
        return f'{control.label}: {under_way} commands are under way, wait for one'
    return ''


async def carry_out(source: Source, control: Control, value: object, owner: bool) -> Answer:
    """Check and execute a command; errors of the source become answers.

    This is the outermost guard: the server continues after any input of a page.
    """
    try:
        answer = source.command(control.name, control.checked(value), owner)
        return await answer if isawaitable(answer) else answer
    except TwinError as error:
        return Answer(accepted=False, text=str(error))
    except Exception:
        _LOGGER.exception('command %s failed', control.name)
        return Answer(accepted=False, text=f"{control.label}: failed, see the twin's log")
