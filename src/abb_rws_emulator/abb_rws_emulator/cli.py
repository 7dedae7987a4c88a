"""Command `softarm sim rws`: stand-alone emulated ABB controller for any client."""

import argparse
import asyncio
import json
import re
import signal
import ssl
import sys

from abb_rws_emulator.control_port import ControlPort
from abb_rws_emulator.http.server import Emulator, Options
from soft_arm_io.command_line import (
    CommandLine,
    input_file,
    port_or_any,
)


class BadOption(ValueError):
    """Invalid value or combination of options."""


FACTORY_USERS = {'Default User': 'robotics', 'Admin': 'robotics'}
"""Password by user of a new ABB controller: the defaults of many clients."""


def _parser() -> CommandLine:
    parser = CommandLine(
        prog='softarm sim rws',
        description='Emulate an ABB controller with an IRB 120 over Robot Web Services.',
    )
    parser.add_argument(
        '--port',
        type=port_or_any,
        default=8080,
        help='TCP port (0: any free one; default %(default)s)',
    )
    parser.add_argument(
        '--host', default='127.0.0.1', help='address to listen on (default %(default)s)'
    )
    parser.add_argument(
        '--control-port',
        type=port_or_any,
        help='TCP port for faults and buttons, always on 127.0.0.1 (default: none)',
    )
    parser.add_argument(
        '--generation',
        type=int,
        choices=(1, 2),
        default=1,
        help='RWS 1.0 (IRC5) or 2.0 (OmniCore); default %(default)s',
    )
    parser.add_argument(
        '--robotware',
        default='',
        help='RobotWare version; from 8 without mastership (default: 6.16 or 7.21)',
    )
    parser.add_argument('--user', help='only user (default: factory users of a controller)')
    parser.add_argument('--password', help='password of --user')
    parser.add_flag('--motors-on', 'start with the motors on')
    parser.add_argument(
        '--tls-certificate', type=input_file, help='PEM file of the certificate; enables TLS'
    )
    parser.add_argument('--tls-key', type=input_file, help='PEM file of the key')
    parser.add_json()
    return parser


def _options(arguments: argparse.Namespace) -> Options:
    if (arguments.user is None) != (arguments.password is None):
        raise BadOption('--user and --password belong together: give both or none')
    if '' in (arguments.user, arguments.password):
        raise BadOption('--user and --password must not be empty')
    if not re.fullmatch(r'[A-Za-z0-9.:_%-]{1,253}', arguments.host):
        raise BadOption(f'--host {arguments.host[:60]!r} must be an address or a host name')
    if arguments.tls_key and not arguments.tls_certificate:
        raise BadOption('--tls-key needs --tls-certificate: give both or none')
    tls = None
    if arguments.tls_certificate:
        tls = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        tls.load_cert_chain(arguments.tls_certificate, arguments.tls_key)
    users = FACTORY_USERS if arguments.user is None else {arguments.user: arguments.password}
    if arguments.robotware and not re.fullmatch(
        r'[0-9]{1,3}\.[0-9]{1,3}[0-9A-Za-z.+-]{0,40}', arguments.robotware
    ):
        raise BadOption(f'--robotware {arguments.robotware[:60]!r} must be a version such as 8.1')
    return Options(
        users,
        arguments.host,
        arguments.port,
        arguments.generation,
        tls=tls,
        robotware=arguments.robotware,
    )


async def _serve(
    options: Options, control_port: int | None, as_json: bool, motors_on: bool
) -> None:
    stop = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    async with Emulator(options) as emulator:
        if motors_on:
            emulator.controller.set_control_state('motoron')
        if control_port is None:
            _report(as_json, options.host, emulator.port, None)
            await stop.wait()
            return
        async with ControlPort(emulator, '127.0.0.1', control_port) as control:
            _report(as_json, options.host, emulator.port, control.port)
            await stop.wait()


def _report(as_json: bool, host: str, port: int, control_port: int | None) -> None:
    if as_json:
        print(json.dumps({'host': host, 'port': port, 'control_port': control_port}), flush=True)
    else:
        control = (
            ''
            if control_port is None
            else f', faults and buttons on http://127.0.0.1:{control_port}'
        )
        print(f'controller on {host}:{port}{control}; Ctrl-C to stop', flush=True)


def main(argv: list[str]) -> int:
    """Run until SIGINT or SIGTERM; return the exit code, 2 for invalid input."""
    return _parser().answer(argv, _emulate, BadOption)


def _emulate(arguments: argparse.Namespace) -> int:
    asyncio.run(
        _serve(_options(arguments), arguments.control_port, arguments.json, arguments.motors_on)
    )
    return 0


if __name__ == '__main__':
    sys.exit(main(sys.argv[1:]))
