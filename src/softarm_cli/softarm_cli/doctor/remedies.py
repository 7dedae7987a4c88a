"""What to do about a diagnostic message."""

import re

_LONGEST_MESSAGE = 200  # characters
_DUMPED_BYTES = re.compile(
    r'(?:\b(?:0x)?[0-9a-fA-F]{2}[\s,:]+){8,}(?:0x)?[0-9a-fA-F]{2}\b|\b[0-9a-fA-F]{32,}\b'
)
# A message that gives its own remedy names a command, or has an imperative after a colon.
_HAS_REMEDY = re.compile(
    r'softarm |: (add|calibrate|check|choose|clear|correct|end|free|give|make|measure|run|see|set'
    r'|start|stop|use|write)\b'
)
_ACTIVATE = 'then run: softarm node activate {driver}'
# The first pattern that is found in the message counts.
_REMEDIES = (
    (r'compiling', 'wait: this happens once after an installation'),
    (
        r'link lost|no connection|no answer|refused|timed? ?out',
        f'check power, cable and address of the device; {_ACTIVATE}',
    ),
    (
        r'set points are not those|heartbeat|another (client|master)',
        f'find the other client of this device and end it; {_ACTIVATE} --clear-faults',
    ),
    (
        r'_stuck|out_of_range|latched',
        f'check sensor, valve, tube and supply of that channel; {_ACTIVATE} --clear-faults',
    ),
    (r'no pairs of colour', 'check that the camera runs with aligned depth'),
    (
        r'ring lost|no ring|marker lost|tip was not measured',
        'look at the debug overlay of tip_tracker: check the light, what hides the ring '
        'or the markers, other objects of its colour, and their keys in the robot file',
    ),
    (r'slower than real time', 'end other programs, or use a machine with more cores'),
    (
        r'vented: no commands',
        'nothing, if no goal is running: the driver vents until the next command',
    ),
    (r'inactive|driver lost', f'read what the driver reports, clear the cause; {_ACTIVATE}'),
)


def remedy(message: str, driver: str) -> str:
    """Return what to do about a diagnostic message.

    Args:
        message: One line.
        driver: Full name of the driver of that system.
    """
    if _HAS_REMEDY.search(message):
        return 'do as it says'
    for pattern, what in _REMEDIES:
        if re.search(pattern, message):
            return what.format(driver=driver)
    return 'see docs/how-to/troubleshoot.md'


def one_line(message: str) -> str:
    """Return a message as one line without dumped bytes, of at most 200 characters."""
    text = _DUMPED_BYTES.sub('(bytes)', ' '.join(message.split()))
    return text if len(text) <= _LONGEST_MESSAGE else f'{text[: _LONGEST_MESSAGE - 3]}...'
