"""Motion system: position of the robot, kinematics and jogging, in RWS 1.0 form.

Requests for kinematics and their answers are in metres and radians; all other values are in
millimetres and degrees.
"""

import numpy as np

from abb_rws_emulator import refusals
from abb_rws_emulator.controller import irb120, rapid_literals
from abb_rws_emulator.controller.program_memory import TASK
from abb_rws_emulator.http.rendering import NOTHING, Item, Reply
from abb_rws_emulator.http.routing import Call, one, route
from abb_rws_emulator.request_numbers import decimal

EXTERNAL_AXES = {f'eax_{axis}': '9E+09' for axis in 'abcdef'}
COORDINATES = ('base', 'world', 'word', 'tool', 'wobj')  # ABB's own reference spells World so, too
_AXES = tuple(f'axis{i}' for i in range(1, 7))
_IDENTITY = {'x': '0', 'y': '0', 'z': '0', 'q1': '1', 'q2': '0', 'q3': '0', 'q4': '0'}


@route('GET', '/rw/motionsystem')
def _system(call: Call) -> Reply:
    fields = {
        'change-count': str(call.controller.motion_changes),
        'mechunit-name': 'ROB_1',
        'poll-rate': '500',
    }
    fields |= {
        'modal-payload-mode': 'true',
        'absacc-active': 'false',
        'motors': call.controller.control_state,
    }
    return one(
        'ms-motionsystem',
        'motionsystem',
        fields,
        mechunits='motionsystem/mechunits',
        errorstate='motionsystem/errorstate',
    )


@route('POST', '/rw/motionsystem')
def _act(call: Call) -> Reply:
    controller, form = call.controller, call.form
    chosen = call.action == 'set-mechunit' and 'ROB_1' in (
        form.get('mechunit-name'),
        form.get('mechunit'),
    )
    if chosen or (
        call.action in ('positiontarget', 'set-target') and ('pos-x' in form or 'x' in form)
    ):
        controller.access.require_motion(call.session)
    elif call.action == 'jog' and {*_AXES, 'ccount'} <= set(form):
        controller.jog(
            call.session, [decimal(form[axis]) for axis in _AXES], form.get('inc-mode', '')
        )
    else:
        raise refusals.invalid()
    return NOTHING


@route('GET', '/rw/motionsystem/checkchangecount')
def _change_count(call: Call) -> Reply:
    same = call.query.get('changecount') == str(call.controller.motion_changes)
    return one(
        'ms-changestate',
        'checkchangecount',
        {'changestate': str(same).upper(), 'change-state': str(same).upper()},
    )


@route('GET', '/rw/motionsystem/errorstate')
def _error_state(call: Call) -> Reply:
    return one(
        'ms-errorstate', 'errorstate', {'err-state': 'HPJ_OK', 'err-count': '0', 'err-desc': ''}
    )


@route('GET', '/rw/motionsystem/nonmotionexecution')
def _non_motion(call: Call) -> Reply:
    return one(
        'ms-nonmotionexecution',
        'nonmotionexecution',
        {'mode': call.controller.settings['nonmotionexecution']},
    )


@route('POST', '/rw/motionsystem/nonmotionexecution')
def _set_non_motion(call: Call) -> Reply:
    if call.action not in ('set-mode', 'set') or call.form.get('mode') not in ('ON', 'OFF'):
        raise refusals.invalid()
    call.controller.settings['nonmotionexecution'] = call.form['mode']
    return NOTHING


@route('GET', '/rw/motionsystem/collisionprediction')
def _collision_prediction(call: Call) -> Reply:
    return one(
        'ms-collisionprediction',
        'collisionprediction',
        {'collision-prediction-mode-enabled': 'false'},
    )


@route('GET', '/rw/motionsystem/{what}supervision')
def _supervision(call: Call) -> Reply:
    if call.parts['what'] not in ('motion', 'path'):
        raise refusals.no_resource()
    return one(
        f'ms-{call.parts["what"]}supervision',
        'ROB_1',
        {'mode': 'TRUE', 'sensitivity': '100', 'level': '100'},
    )


@route('GET', '/rw/motionsystem/mechunits')
def _units(call: Call) -> Reply:
    fields = {'mode': 'Activated', 'activation-allowed': 'FALSE', 'drive-module': '1'}
    return Reply(
        (Item('ms-mechunit-li', 'ROB_1', fields, {'self': 'mechunits/ROB_1'}),), 'mechunits'
    )


def _check_unit(call: Call) -> None:
    if call.parts['unit'] != 'ROB_1':
        raise refusals.no_resource()


@route('GET', '/rw/motionsystem/mechunits/{unit}')
def _unit(call: Call) -> Reply:
    _check_unit(call)
    if call.query.get('resource') == 'lead-through':
        return one('ms-mechunit', 'ROB_1', {'status': call.controller.settings['lead-through']})
    settings = call.controller.settings
    fields = {
        'type': 'TCPRobot',
        'task-name': 'T_ROB1',
        'is-integrated-unit': 'NoIntegratedUnit',
        'has-integrated-unit': 'NoIntegratedUnit',
        'mode': 'Activated',
        'status': 'Synchronized',
        'jog-mode': settings['jog-mode'],
        'axes': '6',
        'axes-total': '6',
        'tool-name': settings['tool'],
        'wobj-name': settings['wobj'],
        'payload-name': settings['payload'],
        'total-payload-name': settings['total-payload'],
        'coord-system': settings['coord-system'],
    }
    return one('ms-mechunit', 'ROB_1', fields)


@route('GET', '/rw/motionsystem/mechunits/{unit}/{what}')
def _where(call: Call) -> Reply:
    _check_unit(call)
    robot, what = call.controller.robot, call.parts['what']
    external = {name.replace('_', ''): value for name, value in EXTERNAL_AXES.items()}
    if what == 'jointtarget':
        return one('ms-jointtarget', 'ROB_1', robot.jointtarget() | EXTERNAL_AXES)
    if what == 'robtarget':
        return one('ms-robtargets', 'ROB_1', _tool_pose(call) | robot.configuration() | external)
    if what == 'cartesian':
        quadrants = dict(zip(('j1', 'j4', 'j6', 'jx'), robot.configuration().values(), strict=True))
        return one(
            'ms-mechunit-cartesian',
            'cartesian',
            _tool_pose(call) | (quadrants if call.generation == 1 else robot.configuration()),
        )
    if what == 'pjoints':
        return one(
            'ms-mechunit-pjoints',
            'ROB_1',
            robot.jointtarget('pjoint') | {f'pjoint{i}': '9E+09' for i in range(7, 13)},
        )
    if what == 'baseframe':
        return one('ms-mechunit-baseframe', 'baseframe', _IDENTITY)
    if what == 'axes':
        axes = tuple(
            Item('ms-mechunit-axis-li', str(i), {}, {'self': f'axes/{i}'}) for i in range(1, 7)
        )
        return Reply(
            (
                Item('ms-mechunit-axes', 'axes', {'axes': '6'}),
                *(axes if call.generation == 1 else ()),
            ),
            'axes',
        )
    if what in ('motionsupervision', 'pathsupervision'):
        return one(f'ms-{what}', 'ROB_1', {'mode': 'TRUE', 'sensitivity': '100', 'level': '100'})
    raise refusals.no_resource()


def _tool_pose(call: Call) -> dict[str, str]:
    """Return the pose of the call's tool, or of the active one, in the call's coordinates."""
    settings, query = call.controller.settings, call.query
    tool = _data(call, 'tooldata', query.get('tool') or settings['tool'])[1]
    work_object = _data(call, 'wobjdata', query.get('wobj') or settings['wobj'])
    coordinates = query.get('coordinate', 'Base').lower()
    if coordinates not in COORDINATES:
        raise refusals.invalid(f'Unknown coordinate {coordinates[:40]}')
    reference = (
        _told_frame(work_object[3]) @ _told_frame(work_object[4]) if coordinates == 'wobj' else None
    )
    return call.controller.robot.robtarget(_told_frame(tool), reference)


def _data(call: Call, data_type: str, name: str) -> list:
    memory = call.controller.memory
    path = memory.find_symbol(f'{TASK}/{name}')
    if (
        path is None
        or memory.declarations[path].data_type != data_type
        or memory.declarations[path].dimensions
    ):
        raise refusals.invalid(f'Unknown {data_type} {name[:40]}')
    return memory.values[path]


def _told_frame(pose: list) -> np.ndarray:
    position_mm, q_wxyz = pose
    return _frame(np.array(position_mm) / 1000.0, np.array(q_wxyz))


@route('GET', '/rw/motionsystem/mechunits/{unit}/axes/{axis}')
def _axis(call: Call) -> Reply:
    _check_unit(call)
    if call.parts['axis'] not in ('1', '2', '3', '4', '5', '6'):
        raise refusals.no_resource()
    if call.query.get('resource') == 'axis-pose':
        return one('ms-mechunit-axispose', call.parts['axis'], _IDENTITY)
    fields = {
        'axis-type': 'Rotational',
        'logical-axis': call.parts['axis'],
        'status': 'Synchronized',
        'synchronized': 'TRUE',
    }
    return one('ms-mechunit-axisstatus', call.parts['axis'], fields)


@route('POST', '/rw/motionsystem/mechunits/{unit}/baseframe')
def _set_base_frame(call: Call) -> Reply:
    _check_unit(call)
    if call.action != 'set' or set(call.form) != set(_IDENTITY):
        raise refusals.invalid()
    call.controller.access.require_motion(call.session)
    # A real controller uses it after the next restart; here it is only accepted.
    return Reply(status=202)


@route('POST', '/rw/motionsystem/mechunits/{unit}')
def _act_on_unit(call: Call) -> Reply:
    _check_unit(call)
    form = call.form
    if call.action == 'set':
        known = {'tool', 'wobj', 'payload', 'total-payload', 'mode', 'jog-mode', 'coord-system'}
        if not form or not set(form) <= known:
            raise refusals.invalid()
        for name, data_type in (
            ('tool', 'tooldata'),
            ('wobj', 'wobjdata'),
            ('payload', 'loaddata'),
            ('total-payload', 'loaddata'),
        ):
            if name in form:
                _data(call, data_type, form[name])
        call.controller.access.require_motion(call.session)
        call.controller.settings |= form
        return NOTHING
    if call.action == 'set-lead-through':
        if form.get('status') not in ('active', 'inactive'):
            raise refusals.invalid()
        call.controller.settings['lead-through'] = form['status'].capitalize()
        return NOTHING
    if call.action == 'mechunit-position':  # a virtual controller puts its robot anywhere
        call.controller.place(np.deg2rad(_vector(form, 'rob_joint', 6)))
        return NOTHING
    if call.action in ('CalcJointsFromPose', 'JointsFromCartesian'):
        return _joints(_solve(form, _vector(form, 'old_rob_joints', 6)))
    if call.action == 'AllJointSolutions':
        solutions = irb120.all_joint_angles(_flange_pose(form))
        if not len(solutions):
            raise refusals.out_of_reach()
        return Reply(
            tuple(
                Item('ms-all-joints-solution', str(i), _joint_fields(q))
                for i, q in enumerate(solutions)
            ),
            'ROB_1',
        )
    if call.action == 'CalcPoseFromJoints':
        return _pose(irb120.tool_pose(_vector(form, 'rob_joints', 6)) @ _tool(form), 1.0)
    if call.action == 'CalcRobTFromJoints':  # asked in degrees, answered in millimetres
        return _pose(irb120.tool_pose(np.deg2rad(_vector(form, 'curr_joints', 6))), 1000.0)
    raise refusals.invalid()


def _vector(form: dict[str, str], name: str, size: int) -> np.ndarray:
    try:
        return np.array(rapid_literals.parse(form.get(name, ''), ('num',) * size))
    except rapid_literals.InvalidLiteral as error:
        raise refusals.invalid(f'{name}: {error}') from None


def _frame(position: np.ndarray, q_wxyz: np.ndarray) -> np.ndarray:
    try:
        return irb120.frame(position, q_wxyz)
    except ValueError as error:
        raise refusals.invalid(str(error)) from None


def _tool(form: dict[str, str]) -> np.ndarray:
    return _frame(
        _vector(form, 'tool_frame_position', 3), _vector(form, 'tool_frame_orientation', 4)
    )


def _flange_pose(form: dict[str, str]) -> np.ndarray:
    return _frame(
        _vector(form, 'curr_position', 3), _vector(form, 'curr_orientation', 4)
    ) @ np.linalg.inv(_tool(form))


def _solve(form: dict[str, str], near_rad: np.ndarray) -> np.ndarray:
    try:
        return irb120.nearest_joint_angles(_flange_pose(form), near_rad)
    except irb120.OutOfReach:
        raise refusals.out_of_reach() from None


def _joint_fields(joints_rad: np.ndarray) -> dict[str, str]:
    texts = [f'{q:.9g}' for q in joints_rad]
    return {
        f'{prefix}{i}': text
        for prefix in ('rob_joint', 'rax_')
        for i, text in enumerate(texts, start=1)
    }


def _joints(joints_rad: np.ndarray) -> Reply:
    return one('ms-jointtarget', 'ROB_1', _joint_fields(joints_rad) | EXTERNAL_AXES)


def _pose(pose: np.ndarray, unit: float) -> Reply:
    names = ('x', 'y', 'z', 'q1', 'q2', 'q3', 'q4')
    values = (*(unit * pose[:3, 3]), *irb120.quaternion(pose[:3, :3]))
    return one(
        'ms-robtarget',
        'ROB_1',
        {name: f'{value:.9g}' for name, value in zip(names, values, strict=True)},
    )
