"""The sockets that API processes share: opened once by the parent, and closed without cutting anybody off."""

import ctypes
import socket
import struct
import sys

from models.errors import ConfigError

BACKLOG = 2048
_SO_ATTACH_FILTER = 26
_DROP_ALL = struct.pack("HBBI", 6, 0, 0, 0)
"""The classic BPF program that keeps nothing of a packet: `ret 0`."""


def listen(host: str, port: int) -> socket.socket:
    """A bound socket that children inherit.

    Raises:
        ConfigError: the address cannot be had.
    """
    try:
        family = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0][0]
        bound = socket.socket(family, socket.SOCK_STREAM)
        bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        bound.bind((host, port))
    except OSError as error:
        raise ConfigError(
            f"{host}:{port}", found=str(error), expected="a free address of this machine", remedy="Choose another port."
        ) from error
    bound.set_inheritable(True)
    bound.listen(BACKLOG)
    return bound


def turn_away(bound: socket.socket) -> None:
    """Let no further connection come about, in whichever process the socket is open; those that the kernel made already
    can still be accepted.

    Closing a listening socket resets what waits in its queue, so the queue has to be empty by then. Elsewhere than on
    Linux nothing is done.
    """
    if sys.platform != "linux":
        return
    program = ctypes.create_string_buffer(_DROP_ALL, len(_DROP_ALL))
    bound.setsockopt(socket.SOL_SOCKET, _SO_ATTACH_FILTER, struct.pack("HL", 1, ctypes.addressof(program)))
