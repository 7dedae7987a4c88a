"""Runs one driver for a test in another process, which may have another pymodbus.

Arguments: map, port. In, one a line: connect, arm, vent, exchanges, command PRESSURE_PA... Out: one
JSON line for each, and one when the driver disarms itself.
"""

import json
import sys
import threading
from importlib.metadata import version

from pneumatic_driver.board import Board
from pneumatic_driver.driver import Driver
from pneumatic_driver.errors import PneumaticDriverError
from pneumatic_driver.pcu2v import Pcu2v
from pneumatic_driver.register_map import load_map

OUTPUT = threading.Lock()


def say(**values) -> None:
    with OUTPUT:
        sys.stdout.write(json.dumps(values) + '\n')
        sys.stdout.flush()


def main() -> None:
    map_name, port = sys.argv[1], int(sys.argv[2])
    device = {'pcu2v': Pcu2v, 'valve_board': Board}[map_name](
        load_map(map_name).with_link(port=port)
    )
    count = [0]

    def counted(_exchange):
        count[0] += 1

    driver = Driver(device, 50.0, 0.5, counted, lambda reason: say(disarmed=reason))
    say(pymodbus=version('pymodbus'))
    for line in sys.stdin:
        word, *pressures = line.split()
        try:
            if word == 'command':
                driver.command([float(p) for p in pressures])
            elif word != 'exchanges':
                getattr(driver, word)()
            say(done=word, exchanges=count[0], error=None)
        except PneumaticDriverError as error:
            say(done=word, exchanges=count[0], error=str(error))
    driver.close()


if __name__ == '__main__':
    main()
