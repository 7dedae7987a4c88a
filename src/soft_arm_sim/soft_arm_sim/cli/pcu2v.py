"""`softarm sim pcu2v`: emulate the gripper's controller with a finger, for any Modbus client."""

import argparse
import asyncio
import json
import signal

from soft_arm_description.options import add_robot
from soft_arm_description.robot import load_robot
from soft_arm_io.command_line import CommandLine, number_in, port_or_any, seed_number
from soft_arm_sim.devices.modbus_server import RELEASE_S, ModbusDevice


def _parser() -> CommandLine:
    parser = CommandLine(
        prog='softarm sim pcu2v',
        description='Emulate a PCU2-V on Modbus TCP (unit id 1), with a finger on it.',
    )
    parser.add_argument(
        '--port',
        type=port_or_any,
        default=5021,
        help='TCP port (0: any free one; default %(default)s)',
    )
    parser.add_argument(
        '--host', default='127.0.0.1', help='address to listen on (default %(default)s)'
    )
    add_robot(parser, 'four_piece_finger')
    parser.add_argument(
        '--seed',
        type=seed_number,
        default=1,
        help='which finger: draws how it deviates from the robot file (default %(default)s)',
    )
    parser.add_argument(
        '--object-gap-m',
        type=number_in(0.0, 10.0),
        help='distance from the straight finger to an object [m] (default: no object)',
    )
    parser.add_json()
    return parser


async def _serve(device: ModbusDevice, as_json: bool) -> None:
    stop = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    await device.start()
    try:
        where = {'host': device.host, 'port': device.port}
        print(
            json.dumps(where)
            if as_json
            else f'PCU2-V on {device.host}:{device.port}, unit id 1; Ctrl-C ends it',
            flush=True,
        )
        await stop.wait()
    finally:
        await device.stop(RELEASE_S)


def main(argv: list[str]) -> int:
    """Run until SIGINT or SIGTERM; 2 for bad input."""
    return _parser().answer(argv, _emulate)


def _emulate(options: argparse.Namespace) -> int:
    # SciPy is slow to import: not before the arguments are checked
    from soft_arm_physics.pneumatic_finger import PneumaticFinger
    from soft_arm_sim.devices.pcu2v import Pcu2v

    plant = PneumaticFinger(load_robot(options.robot), options.seed)
    plant.place_object(options.object_gap_m)
    asyncio.run(_serve(Pcu2v(plant, options.host, options.port), options.json))
    return 0
