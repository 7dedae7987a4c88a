"""Panel: controller state, operation mode and speed ratio, in RWS 1.0 form."""

from abb_rws_emulator import refusals
from abb_rws_emulator.http.rendering import NO_CONTENT, Reply
from abb_rws_emulator.http.routing import Call, one, route


@route('GET', '/rw/panel/{what}')
def _read(call: Call) -> Reply:
    controller, what = call.controller, call.parts['what']
    fields = {
        'ctrlstate': controller.control_state,
        'opmode': controller.operation_mode,
        'speedratio': str(controller.speed_percent),
    }
    if what not in fields:
        raise refusals.no_resource()
    return one(f'pnl-{what}', what, {what: fields[what]})


@route('POST', '/rw/panel/{what}')
def _write(call: Call) -> Reply:
    requested = (call.parts['what'], call.action)
    if requested == ('ctrlstate', 'setctrlstate'):
        call.controller.set_control_state(call.form.get('ctrl-state', ''))
    elif requested == ('speedratio', 'setspeedratio'):
        call.controller.set_speed(call.session, call.form.get('speed-ratio', ''))
    else:
        raise refusals.invalid()
    return NO_CONTENT
