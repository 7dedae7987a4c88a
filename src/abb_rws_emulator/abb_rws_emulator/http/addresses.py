"""Mapping of RWS 2.0 paths to the RWS 1.0 form that the emulator uses internally."""

import re

_REWRITES = [
    (re.compile(pattern), path, action)
    for pattern, path, action in (
        (r'^/rw/panel/ctrl-state$', '/rw/panel/ctrlstate', 'setctrlstate'),
        (r'^/rw/rapid/execution/(start|stop|resetpp)$', '/rw/rapid/execution', r'\1'),
        (r'^/rw/rapid/symbol/RAPID/(.+)/data$', r'/rw/rapid/symbol/data/RAPID/\1', 'set'),
        (r'^(/rw/mastership(?:/\w+)?)/(request|release)$', r'\1', r'\2'),
        (r'^(/rw/iosystem/signals/.+)/set-value$', r'\1', 'set'),
    )
]


def canonical(method: str, path: str) -> tuple[str, dict[str, str]]:
    """Return the RWS 1.0 path and query of an RWS 2.0 path."""
    for pattern, replacement, action in _REWRITES:
        match = pattern.match(path)
        if match:
            query = {'action': match.expand(action)} if method == 'POST' else {}
            return match.expand(replacement), query
    return path, {}
