"""Control port of the emulator: faults, buttons and key switch.

JSON over HTTP, without authentication.

GET  /state                          state of the controller and the server
POST /faults   {"latency_s": 0.5}    set fields of Faults; {} clears all faults
POST /actions/restart                run an action of ACTIONS; the body is an object of arguments
"""

import json
import math
import struct
from collections.abc import Awaitable, Callable
from dataclasses import fields

import numpy as np
from aiohttp import web

from abb_rws_emulator.controller import irb120
from abb_rws_emulator.faults import Faults
from abb_rws_emulator.http.server import Emulator


class ControlPort:
    """Control port of an emulator; use it as an async context."""

    def __init__(self, emulator: Emulator, host: str, port: int):
        self._emulator, self._host = emulator, host
        self.port = port
        app = web.Application()
        app.router.add_get('/state', self._state)
        app.router.add_post('/faults', self._faults)
        app.router.add_post('/actions/{name}', self._action)
        self._runner = web.AppRunner(
            app, access_log=None, handler_cancellation=True, shutdown_timeout=0.1
        )

    async def __aenter__(self) -> 'ControlPort':
        await self._runner.setup()
        await web.TCPSite(self._runner, self._host, self.port).start()
        self.port = self._runner.addresses[0][1]  # the free port chosen for port 0
        return self

    async def __aexit__(self, *_exception: object) -> None:
        await self._runner.cleanup()

    async def _state(self, _request: web.Request) -> web.Response:
        emulator, controller = self._emulator, self._emulator.controller
        return web.json_response(
            {
                'sessions': len(emulator.sessions.table),
                'sessions_opened': emulator.sessions.opened,
                'challenges': emulator.sessions.challenges,
                'requests': emulator.requests,
                'writes': emulator.written,
                'groups': len(emulator.subscriptions.groups),
                'sockets': sum(len(g.sockets) for g in emulator.subscriptions.groups.values()),
                'events_sent': emulator.subscriptions.events_sent,
                'control_state': controller.control_state,
                'operation_mode': controller.operation_mode,
                'speed_percent': controller.speed_percent,
                'running': controller.running,
                'joints_deg': np.rad2deg(controller.robot.joints_rad).round(6).tolist(),
                'masters': controller.access.masters,
            }
        )

    async def _faults(self, request: web.Request) -> web.Response:
        wanted = await _object(request)
        kinds = {
            spec.name: type(spec.default) for spec in fields(Faults) if spec.name != 'starts_s'
        }
        for name, value in wanted.items():
            known = name in kinds and isinstance(
                value, (int, float) if kinds[name] is float else kinds[name]
            )
            if not known or (kinds[name] is float and not 0.0 <= value < math.inf):
                raise web.HTTPBadRequest(
                    text=f'{name} = {value!r}: known faults are '
                    f'{ ({n: k.__name__ for n, k in kinds.items()}) }\n'
                )
        faults = self._emulator.faults
        if not wanted:
            faults.clear()
        for name, value in wanted.items():
            setattr(faults, name, value)
        if not wanted or 'silent' in wanted or 'websocket_silent' in wanted:
            silent = wanted.get('silent') or wanted.get('websocket_silent')
            self._emulator.websockets.silence(bool(silent))
        return web.Response(status=204)

    async def _action(self, request: web.Request) -> web.Response:
        name = request.match_info['name']
        if name not in ACTIONS:
            raise web.HTTPNotFound(text=f'no action {name!r}: known are {sorted(ACTIONS)}\n')
        values = await _object(request)
        try:
            result = ACTIONS[name](self._emulator, **values)
            if result is not None:
                await result
        except (TypeError, LookupError, ValueError, ArithmeticError, struct.error) as error:
            raise web.HTTPBadRequest(text=f'{name}: {error}\n') from error
        return web.Response(status=204)


async def _object(request: web.Request) -> dict:
    try:
        text = await request.text()
        value = json.loads(text) if text else {}
    except (ValueError, RecursionError) as error:
        raise web.HTTPBadRequest(text=f'body is not JSON: {error}\n') from error
    if not isinstance(value, dict):
        raise web.HTTPBadRequest(text='body must be a JSON object\n')
    return value


def _set_mode(emulator: Emulator, mode: str) -> None:
    if mode not in ('AUTO', 'MANR', 'MANF'):
        raise ValueError(f'mode {mode!r} must be AUTO, MANR or MANF')
    emulator.controller.set_operation_mode(mode)


def _set_speed(emulator: Emulator, percent: int) -> None:
    if percent not in range(101):
        raise ValueError(f'percent {percent!r} must be an integer from 0 to 100')
    emulator.controller.speed_percent = percent
    emulator.controller.on_change('/rw/panel/speedratio')


def _pause_s(value: float) -> float:
    if not 0.0 <= value < math.inf:
        raise ValueError(f'{value!r} s must be finite and not negative')
    return value


def _place(emulator: Emulator, joints_deg: list[float]) -> None:
    emulator.controller.robot.place(irb120.in_range(np.deg2rad(joints_deg)))


def _steal(emulator: Emulator, domain: str, holder: str | None = 'FlexPendant') -> None:
    if domain not in emulator.controller.access.masters:
        raise ValueError(
            f'domain {domain!r} must be one of {sorted(emulator.controller.access.masters)}'
        )
    emulator.controller.access.steal_mastership(domain, holder)


ACTIONS: dict[str, Callable[..., Awaitable[None] | None]] = {
    'restart': lambda emulator, down_s=0.5, boot_s=0.5: emulator.restart(
        _pause_s(down_s), _pause_s(boot_s)
    ),
    'expire_sessions': lambda emulator: emulator.sessions.end_all(),
    'lose_registrations': lambda emulator: emulator.subscriptions.remove_all(),
    'close_websockets': lambda emulator, code=1008, text='Client cannot send data.': (
        emulator.websockets.close(code, text)
    ),
    'steal_mastership': _steal,
    'emergency_stop': lambda emulator, pressed=True: emulator.controller.emergency_stop(pressed),
    'guard_stop': lambda emulator, open_door=True: emulator.controller.guard_stop(open_door),
    'operation_mode': _set_mode,
    'speed': _set_speed,
    'place': _place,
    'signal': lambda emulator, path, value: emulator.controller.signals.put(path, float(value)),
}
