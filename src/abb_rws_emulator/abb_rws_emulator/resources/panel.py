"""Panel: controller state, operation mode, speed, restart, in RWS 1.0 form."""

from abb_rws_emulator import refusals
from abb_rws_emulator.http.rendering import NOTHING, Item, Reply
from abb_rws_emulator.http.routing import Call, one, route

MODES = {'auto': 'AUTO', 'manr': 'MANR', 'man': 'MANR', 'manf': 'MANF', 'manfs': 'MANF'}
RESTARTS = ('restart', 'istart', 'pstart', 'bstart', 'xstart', 'shutdown')


@route('GET', '/rw/panel')
def _list(call: Call) -> Reply:
    names = ('ctrlstate', 'opmode', 'speedratio', 'coldetstate')
    return Reply(
        tuple(Item('pnl-resource-li', name, {}, {'self': f'panel/{name}'}) for name in names),
        'panel',
    )


@route('GET', '/rw/panel/{what}')
def _read(call: Call) -> Reply:
    controller, what = call.controller, call.parts['what']
    if what == 'coldetstate':  # RobotWare 6.16 writes this class with a blank behind it
        return one('pnl-coldetstate', 'coldetstate', {'coldetstate ': 'INIT'})
    if what == 'enreq' and call.generation == 2:
        return one('pnl-enreq', 'enreq', {'enreqstate': 'unknown'})
    if (what, call.query.get('resource')) == ('opmode', 'lock-state'):
        return one(
            'pnl-opmode-lockstate-li',
            'lock-state',
            {'lock-state': controller.mode_lock or 'unlocked'},
        )
    fields = {
        'ctrlstate': controller.control_state,
        'opmode': controller.operation_mode,
        'speedratio': str(controller.speed_percent),
    }
    if what not in fields:
        raise refusals.no_resource()
    return one(f'pnl-{what}', what, {what: fields[what]})


@route('POST', '/rw/panel')
def _act(call: Call) -> Reply:
    if call.action == 'setlang':
        call.controller.settings['lang'] = call.form.get('lang-code') or _missing()
        return NOTHING
    if call.action != 'restart' or call.form.get('restart-mode') not in RESTARTS:
        raise refusals.invalid()
    if call.controller.access.strict_mastership:
        call.controller.access.require_edit(call.session)
    call.controller.on_restart()
    return NOTHING


@route('POST', '/rw/panel/{what}')
def _write(call: Call) -> Reply:
    controller, form = call.controller, call.form
    key = (call.parts['what'], call.action)
    if key == ('ctrlstate', 'setctrlstate'):
        controller.set_control_state(call.session, form.get('ctrl-state', ''))
    elif key == ('speedratio', 'setspeedratio'):
        controller.set_speed(call.session, form.get('speed-ratio', ''))
    elif key in (
        ('opmode', ''),
        ('opmode', 'setopmode'),
    ):  # only a virtual controller has its key here
        controller.turn_key(MODES.get(form.get('opmode', '').lower()) or _missing())
    elif key == ('opmode', 'acknowledge'):
        if form.get('opmode', '').lower() not in ('auto', 'manf', 'coldet'):
            raise refusals.invalid()
    elif key == ('opmode', 'lock'):
        controller.lock_mode(form.get('pin', ''), form.get('permanent', '0'))
    elif key == ('opmode', 'unlock'):
        controller.mode_lock = ''
    elif call.generation == 2 and call.parts['what'] in (
        'emergency-stop',
        'external-emergency-stop',
        'general-stop',
        'auto-stop',
        'enable-switch',
    ):
        _press(call)
    else:
        raise refusals.invalid()
    return NOTHING


def _press(call: Call) -> None:
    """Press a button of a virtual controller; "off" opens the circuit of a stop."""
    state, what = call.form.get('state', ''), call.parts['what']
    if what == 'external-emergency-stop' and state in ('active', 'reset'):
        call.controller.emergency_stop(state == 'active')
        return
    if state not in ('on', 'off'):
        raise refusals.invalid()
    if what == 'enable-switch':
        call.controller.enabling_device(state == 'on')
    elif what == 'emergency-stop':
        call.controller.emergency_stop(state == 'off')
    else:
        call.controller.guard_stop(state == 'off')


def _missing() -> str:
    raise refusals.invalid()
