"""Addresses of both generations brought to the RWS 1.0 form, in which the emulator thinks."""

import re

_REWRITES = (
    (re.compile(r'^/rw/panel/ctrl-state$'), '/rw/panel/ctrlstate', None),
    (re.compile(r'^/rw/rapid/symbol/RAPID/(.+)/data$'), r'/rw/rapid/symbol/data/RAPID/\1', None),
    (re.compile(r'^/rw/rapid/execution/(start|stop|resetpp|cycle|startprodentry)$'), '/rw/rapid/execution', {'cycle': 'setcycle'}),
    (re.compile(r'^(/rw/mastership(?:/\w+)?)/(request|release)$'), r'\1', {}),
    (re.compile(r'^(/rw/iosystem/signals/.+)/(set-value)$'), r'\1', {'set-value': 'set'}),
    (re.compile(r'^(/rw/rapid/tasks)/(activate|deactivate)$'), r'\1', {}),
)
_WRITES_WITHOUT_ACTION = (('/rw/panel/ctrlstate', 'setctrlstate'), ('/rw/rapid/symbol/data/RAPID/', 'set'))


def canonical(method: str, path: str) -> tuple[str, str | None]:
    """RWS 1.0 path and action of an RWS 2.0 address."""
    action = None
    for pattern, replacement, actions in _REWRITES:
        match = pattern.match(path)
        if match:
            path = match.expand(replacement)
            if actions is not None:
                action = actions.get(match.groups()[-1], match.groups()[-1])
            break
    if method == 'POST' and action is None:
        action = next((name for prefix, name in _WRITES_WITHOUT_ACTION if path.startswith(prefix)), None)
    return path, action
