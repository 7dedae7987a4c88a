"""Remote privilege in manual mode (RMMP), granted by the operator at the pendant."""

import asyncio
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace

from abb_rws_bridge.controller import Controller
from abb_rws_bridge.errors import AccessDenied, OutcomeUnknown, RwsError
from abb_rws_bridge.request import Request

POLL_S = 1.0
"""Poll period [s]; the controller revokes the privilege of a session that does not poll."""
_PATH = '/users/rmmp'

_log = logging.getLogger(__name__)


@asynccontextmanager
async def remote_privilege(
    controller: Controller, timeout_s: float = 30.0, poll_s: float = POLL_S
) -> AsyncIterator[None]:
    """Hold the privilege to modify for the block, and release it however the block ends.

    Program writes also require the mastership, and are refused once the operator has revoked the
    privilege.

    Args:
        timeout_s: Time limit for the operator to grant the request on the pendant [s].
        poll_s: Poll period [s].

    Raises:
        WrongMode: If the controller is in automatic mode, which requires no privilege.
        MastershipHeld: If another client holds or has requested it.
        AccessDenied: If the operator refused or did not answer in time.
    """
    try:
        request = controller.dialect.post(_PATH, form={'privilege': 'modify'})
        await controller.session.request(replace(request, success=(202,)))
        await _granted(controller, timeout_s, poll_s)
    except (AccessDenied, OutcomeUnknown, asyncio.CancelledError):
        await asyncio.shield(_cancel(controller))  # withdraw the request from the pendant
        raise
    keeping = asyncio.create_task(_keep(controller, poll_s))
    try:
        yield
    finally:
        keeping.cancel()
        await asyncio.gather(keeping, return_exceptions=True)
        await asyncio.shield(_cancel(controller))


async def _granted(controller: Controller, timeout_s: float, poll_s: float) -> None:
    try:
        async with asyncio.timeout(timeout_s):
            while (status := await _status(controller)) == 'PENDING':
                await asyncio.sleep(min(poll_s, 0.25))
    except TimeoutError as error:
        raise AccessDenied(
            f'remote privilege was not granted within {timeout_s} s: grant the request on the '
            'pendant'
        ) from error
    if status != 'GRANTED':
        raise AccessDenied(
            f'remote privilege was not granted ({status.lower()}): ask the operator at the pendant'
        )


async def _status(controller: Controller) -> str:
    response = await controller.session.request(
        Request('GET', f'{_PATH}/poll', dict(controller.dialect.query))
    )
    return response.document.first().text('status').upper()


async def _keep(controller: Controller, poll_s: float) -> None:
    while True:
        await asyncio.sleep(poll_s)
        try:
            if (status := await _status(controller)) != 'GRANTED':
                _log.warning('remote privilege is lost: %s', status)
                return
        except RwsError as error:
            _log.warning('remote privilege not polled: %s', error)


async def _cancel(controller: Controller) -> None:
    try:
        await controller.session.request(controller.dialect.post(_PATH, 'cancel'))
    except RwsError as error:  # it expires without polling
        _log.warning('remote privilege not released: %s', error)
