"""Translate RWS 2.0 addresses to the RWS 1.0 form, which the emulator uses internally."""

import re

_TASK, _UNIT = r'(/rw/rapid/tasks/[^/]+)', r'(/rw/motionsystem/mechunits/[^/]+)'
_MODULE = r'^/rw/rapid/tasks/(?P<task>[^/]+)/modules/(?P<module>[^/]+)'
# pattern, RWS 1.0 path, query; an empty action is the last part of the path
_REWRITES = [
    (re.compile(pattern), path, query)
    for pattern, path, query in (
        (r'^/rw/panel/ctrl-state$', '/rw/panel/ctrlstate', {}),
        (r'^/rw/panel/lang$', '/rw/panel', {'action': 'setlang'}),
        (r'^/rw/panel/opmode/lock-state$', '/rw/panel/opmode', {'resource': 'lock-state'}),
        (r'^/rw/panel/opmode/(acknowledge|lock|unlock)$', '/rw/panel/opmode', {'action': ''}),
        (r'^/ctrl/restart$', '/rw/panel', {'action': 'restart'}),
        (r'^/ctrl/lang$', '/ctrl', {'action': 'set-lang'}),
        (r'^/ctrl/compress$', '/ctrl/compress', {'action': 'comp'}),
        (r'^/ctrl/decompress$', '/ctrl/compress', {'action': 'dcomp'}),
        (r'^/ctrl/backup/create$', '/ctrl/backup', {'action': 'backup'}),
        (r'^/ctrl/backup/(restore|check-restore)$', '/ctrl/backup', {'action': ''}),
        (r'^/rw/rapid/execution/cycle$', '/rw/rapid/execution', {'action': 'setcycle'}),
        (
            r'^/rw/rapid/execution/(start|stop|resetpp|startprodentry|holdtorun)$',
            '/rw/rapid/execution',
            {'action': ''},
        ),
        (r'^/rw/rapid/tasks/(activate|deactivate)$', '/rw/rapid/tasks', {'action': ''}),
        (_TASK + '/(loadmod|unloadmod|activate|deactivate|build)$', r'\1', {'action': ''}),
        (_TASK + '/program/load$', r'\1/program', {'action': 'loadprog'}),
        (_TASK + '/program/unload$', r'\1/program', {'action': 'unloadprog'}),
        (_TASK + '/program/save$', r'\1/program', {'action': 'save'}),
        (_TASK + '/pcp/routine$', r'\1/pcp', {'action': 'set-pp-routine'}),
        (_TASK + '/pcp/routine-from-url$', r'\1/pcp', {'action': 'set-pp-routine-from-url'}),
        (_TASK + '/pcp/cursor$', r'\1/pcp', {'action': 'set-pp-cursor'}),
        (_TASK + '/pcp/prev-inst$', r'\1/pcp', {'action': 'set-pp-prev-inst'}),
        (_TASK + '/pcp/next-inst$', r'\1/pcp', {'action': 'set-pp-next-inst'}),
        (_TASK + '/pcp/reset$', '/rw/rapid/execution', {'action': 'resetpp'}),
        (_MODULE + '$', r'/rw/rapid/modules/\g<module>', {'task': r'\g<task>'}),
        (
            _MODULE + '/save$',
            r'/rw/rapid/modules/\g<module>',
            {'task': r'\g<task>', 'action': 'save'},
        ),
        (
            _MODULE + '/text$',
            r'/rw/rapid/modules/\g<module>',
            {'task': r'\g<task>', 'resource': 'module-text', 'action': 'set-module-text'},
        ),
        (
            _MODULE + '/text/range$',
            r'/rw/rapid/modules/\g<module>',
            {'task': r'\g<task>', 'action': 'set-text-range'},
        ),
        (
            _MODULE + '/changecount$',
            r'/rw/rapid/modules/\g<module>',
            {'task': r'\g<task>', 'resource': 'change-count'},
        ),
        (
            _MODULE + '/sync-pers$',
            r'/rw/rapid/modules/\g<module>',
            {'task': r'\g<task>', 'resource': 'syncper-status'},
        ),
        (
            _MODULE + '/module-extension$',
            r'/rw/rapid/modules/\g<module>',
            {'task': r'\g<task>', 'resource': 'module-extension'},
        ),
        (r'^/rw/rapid/symbols/search$', '/rw/rapid/symbols', {'action': 'search-symbols'}),
        (r'^/rw/rapid/symbol/RAPID/(.+)/data$', r'/rw/rapid/symbol/data/RAPID/\1', {}),
        (r'^/rw/rapid/symbol/RAPID/(.+)/properties$', r'/rw/rapid/symbol/properties/RAPID/\1', {}),
        (
            r'^(/rw/mastership(?:/\w+)?)/(request|release|request-with-id|release-with-id|watchdog)$',
            r'\1',
            {'action': ''},
        ),
        (
            r'^/rw/iosystem/signals/(signal-search|unblock-signal)$',
            '/rw/iosystem/signals',
            {'action': ''},
        ),
        (
            r'^/rw/iosystem/signals/signal-search-ex$',
            '/rw/iosystem/signals',
            {'action': 'signal-searchex'},
        ),
        (
            r'^(/rw/iosystem/(?:signals|networks|devices)/.+)/set-(?:value|lstate)$',
            r'\1',
            {'action': 'set'},
        ),
        (r'^(/rw/iosystem/(?:signals|networks|devices)/.+)/config$', r'\1', {'resource': 'config'}),
        (r'^/rw/motionsystem/jog$', '/rw/motionsystem', {'action': 'jog'}),
        (
            r'^/rw/motionsystem/checkchangecount/(\d+)$',
            '/rw/motionsystem/checkchangecount',
            {'changecount': r'\1'},
        ),
        (
            _UNIT + '/lead-through$',
            r'\1',
            {'resource': 'lead-through', 'action': 'set-lead-through'},
        ),
        (_UNIT + '/position$', r'\1', {'action': 'mechunit-position'}),
        (_UNIT + '/joints-from-pose$', r'\1', {'action': 'CalcJointsFromPose'}),
        (_UNIT + '/joints-from-cartesian$', r'\1', {'action': 'JointsFromCartesian'}),
        (_UNIT + '/all-joints-solution$', r'\1', {'action': 'AllJointSolutions'}),
        (_UNIT + '/pose-from-joints$', r'\1', {'action': 'CalcPoseFromJoints'}),
        (_UNIT + r'/axes/(\d+)/pose$', r'\1/axes/\2', {'resource': 'axis-pose'}),
        (r'^/rw/elog/(clearall|saveraw)$', '/rw/elog', {'action': ''}),
        (r'^(/rw/elog/\d+)/clear$', r'\1', {'action': 'clear'}),
        (r'^/rw/elog/seqnum/(\d+)$', r'/rw/elog/0/\1', {}),
        (r'^/rw/cfg/(load|validate-instances)$', '/rw/cfg', {'action': ''}),
        (r'^(/rw/cfg/[^/]+)/saveas$', r'\1', {'action': 'saveas'}),
        (r'^(/rw/cfg/[^/]+/[^/]+/instances)/create-default$', r'\1', {'action': 'create-default'}),
        (r'^(/rw/dipc/[^/]+)/information$', r'\1', {'resource': 'information'}),
        (r'^/users/rmmp/cancel$', '/users/rmmp', {'action': 'cancel'}),
        (r'^/users/register$', '/users', {}),
        (r'^/users/impersonate$', '/users', {'action': 'impersonate'}),
    )
]
_WRITES_WITHOUT_ACTION = [
    (re.compile(pattern), action)
    for pattern, action in (
        (r'^/rw/panel/ctrlstate$', 'setctrlstate'),
        (r'^/rw/rapid/symbol/data/RAPID/', 'set'),
        (r'^/rw/motionsystem/nonmotionexecution$', 'set-mode'),
        (r'^/rw/motionsystem/mechunits/[^/]+(/baseframe)?$', 'set'),
        (r'^/rw/cfg/[^/]+/[^/]+/instances/[^/]+$', 'set'),
        (r'^/rw/dipc$', 'dipc-create'),
        (r'^/rw/dipc/[^/]+$', 'dipc-send'),
        (r'^/ctrl/virtualtime/vt(state|speed|timeslice)$', 'set'),
    )
]


def canonical(method: str, path: str) -> tuple[str, dict[str, str]]:
    """Return the RWS 1.0 path and query of an RWS 2.0 address."""
    query = {}
    for pattern, replacement, wanted in _REWRITES:
        match = pattern.match(path)
        if match:
            path = match.expand(replacement)
            query = {
                name: match.expand(value) if value else match.groups()[-1]
                for name, value in wanted.items()
            }
            break
    if method != 'POST':
        query.pop('action', None)
    elif 'action' not in query:
        query |= next(
            ({'action': action} for found, action in _WRITES_WITHOUT_ACTION if found.match(path)),
            {},
        )
    return path, query
