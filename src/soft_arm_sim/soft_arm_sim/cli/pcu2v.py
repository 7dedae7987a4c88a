"""`softarm sim pcu2v`: the emulated gripper controller alone, with a finger behind it, for any Modbus client."""

import argparse
import asyncio
import json
import logging
import signal
import sys

from soft_arm_description.robot import load_robot
from soft_arm_sim.finger_plant import FingerPlant
from soft_arm_sim.pcu2v import Pcu2v


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog='softarm sim pcu2v', description='Emulate a PCU2-V on Modbus TCP (unit id 1), with a finger on it.'
    )
    parser.add_argument('--port', type=int, default=5021, help='TCP port (0: any free one; default %(default)s)')
    parser.add_argument('--host', default='127.0.0.1', help='address to listen on (default %(default)s)')
    parser.add_argument('--robot', default='four_piece_finger', help='robot file of the finger: shipped name or path (default %(default)s)')
    parser.add_argument('--seed', type=int, default=1, help='which finger: draws how it deviates from the robot file (default %(default)s)')
    parser.add_argument('--object-gap-m', type=float, help='distance from the straight finger to an object [m] (default: no object)')
    parser.add_argument('--json', action='store_true', help='say where it listens as one JSON line')
    return parser


async def _serve(device: Pcu2v, as_json: bool) -> None:
    stop = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    await device.start()
    try:
        where = {'host': device.host, 'port': device.port}
        print(json.dumps(where) if as_json else f'PCU2-V on {device.host}:{device.port}, unit id 1; Ctrl-C ends it', flush=True)
        await stop.wait()
    finally:
        await device.stop()


def main(argv: list[str]) -> int:
    """Run until SIGINT or SIGTERM; 2 for bad input."""
    arguments = _parser().parse_args(argv)
    logging.getLogger('pymodbus.logging').setLevel(logging.CRITICAL)  # a port in use is said once, by us
    try:
        if not 0 <= arguments.port <= 65535 or arguments.seed < 0:
            raise ValueError(f'--port {arguments.port} must be in [0, 65535] and --seed {arguments.seed} at least 0')
        plant = FingerPlant(load_robot(arguments.robot), arguments.seed)
        plant.place_object(arguments.object_gap_m)
        asyncio.run(_serve(Pcu2v(plant, arguments.host, arguments.port), arguments.json))
    except (ValueError, OSError) as error:
        print(f'softarm sim pcu2v: {error}', file=sys.stderr)
        return 2
    return 0
