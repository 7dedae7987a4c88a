"""Names of node processes, each held by one process of a ROS domain on this machine."""

import errno
import hashlib
import socket
import struct
from collections.abc import Iterable, Mapping


class AlreadyRunsError(RuntimeError):
    """Another process on this machine runs a node of the same name in the same ROS domain."""

    def __init__(self, node: str, domain: str, pid: int | None):
        process = f' (pid {pid})' if pid else ''
        super().__init__(
            f'{node} already runs in ROS domain {domain}{process}: end that launch first, or start '
            'this one in another domain, ROS_DOMAIN_ID=..'
        )


def domain_of(variables: Mapping[str, str]) -> str:
    """Return the ROS domain of an environment."""
    return variables.get('ROS_DOMAIN_ID') or '0'


def node_of(words: Iterable[str]) -> str | None:
    """Return the full name of the node of a command line; None if it does not set it."""
    remaps = dict(word.split(':=', 1) for word in words if ':=' in word)
    if '__node' not in remaps:
        return None
    return f'/{remaps.get("__ns", "").strip("/")}/{remaps["__node"]}'.replace('//', '/')


def hold(node: str, domain: str) -> socket.socket:
    """Hold a node's name until the returned socket is closed or the process ends.

    The lock is a Unix socket in the abstract namespace. The kernel frees it with the process, and
    its scope is the network namespace, as that of DDS on the loopback.

    Raises:
        AlreadyRunsError: If another process holds it.
    """
    address = b'\0soft_arm.' + hashlib.sha256(f'{domain} {node}'.encode()).digest()
    holder = socket.socket(socket.AF_UNIX)
    try:
        holder.bind(address)
        holder.listen()
    except OSError as error:
        holder.close()
        if error.errno != errno.EADDRINUSE:
            raise
        raise AlreadyRunsError(node, domain, _pid_of(address)) from None
    return holder


def _pid_of(address: bytes) -> int | None:
    """Return the process that listens at an address; None if it has just begun or ended."""
    with socket.socket(socket.AF_UNIX) as client:
        try:
            client.connect(address)
            credentials = client.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12)
        except OSError:
            return None
    return struct.unpack('3i', credentials)[0] or None
