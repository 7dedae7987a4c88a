"""Nodes under test in processes of their own."""

import os
import socket
import subprocess
import sys


def start_node(module, *parameters, namespace='/', **environment):
    """Start the node of a module in a process whose errors are piped."""
    code = f'import sys; from {module} import main; sys.exit(main())'
    words = ['-r', f'__ns:={namespace}'] if namespace != '/' else []
    words += [word for parameter in parameters for word in ('-p', parameter)]
    command, given = [sys.executable, '-c', code, '--ros-args', *words], os.environ | environment
    return subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=given)


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(('127.0.0.1', 0))
        return probe.getsockname()[1]
