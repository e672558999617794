#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""notify.py SOCKET: the service manager's end of sd_notify(3): prints "ready", then each message as one line, its lines joined by
" | ". SOCKET is a path, or a name in the abstract namespace behind "@"."""

import socket
import sys

name = sys.argv[1]
end = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
end.bind("\0" + name[1:] if name.startswith("@") else name)
print("ready", flush=True)
while True:
    print(end.recv(65536).decode().replace("\n", " | "), flush=True)
