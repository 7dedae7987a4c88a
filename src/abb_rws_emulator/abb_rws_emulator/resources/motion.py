"""Motion system: joint angles and tool pose of the robot, in RWS 1.0 form [mm, deg]."""

from abb_rws_emulator import refusals
from abb_rws_emulator.http.rendering import Reply
from abb_rws_emulator.http.routing import Call, one, route

UNIT = 'ROB_1'
_UNUSED = '9E+09'
_FRAMES = {'tool': ('tool0',), 'wobj': ('wobj0',), 'coordinate': ('base', 'world', 'wobj')}
"""Accepted values of the query of a robtarget; wobj0, world and base frame coincide."""


@route('GET', '/rw/motionsystem/mechunits/{unit}/{what}')
def _position(call: Call) -> Reply:
    robot, what = call.controller.robot, call.parts['what']
    if call.parts['unit'] != UNIT or what not in ('jointtarget', 'robtarget'):
        raise refusals.no_resource()
    if what == 'jointtarget':
        external = {f'eax_{axis}': _UNUSED for axis in 'abcdef'}
        return one('ms-jointtarget', UNIT, robot.jointtarget() | external)
    for name, known in _FRAMES.items():
        if call.query.get(name, known[0]).lower() not in known:
            raise refusals.invalid(f'Unknown {name} {call.query[name][:40]}')
    external = {f'eax{axis}': _UNUSED for axis in 'abcdef'}
    return one('ms-robtargets', UNIT, robot.robtarget() | robot.configuration() | external)


@route('GET', '/rw/rapid/tasks/{task}/motion')
def _task_position(call: Call) -> Reply:
    """Return the position by the path that the program of the gripper paper uses."""
    robot, what = call.controller.robot, call.query.get('resource')
    if call.parts['task'] not in call.controller.active_tasks or call.controller.booting:
        raise refusals.no_resource()
    external = {f'ej{i}': _UNUSED for i in range(1, 7)}
    if what == 'jointtarget':
        return one('rap-jointtarget', 'jointtarget', robot.jointtarget('j') | external)
    if what == 'robtarget':
        fields = robot.robtarget() | robot.configuration() | external
        return one('rap-robtarget', 'robtarget', fields)
    raise refusals.invalid()
