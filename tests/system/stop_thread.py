#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Stops one thread of a process, which no signal can do; the others run on.

    stop_thread.py PID PATTERN SECONDS    the thread whose name matches the whole regular expression; says `stopped`, then `continued`
"""

import ctypes
import os
import re
import sys
import time

PTRACE_DETACH, PTRACE_SEIZE, PTRACE_INTERRUPT = 17, 0x4206, 0x4207  # <linux/ptrace.h>
WALL = 0x40000000  # __WALL: also waits for threads

LIBC = ctypes.CDLL(None, use_errno=True)
LIBC.ptrace.argtypes = [ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p]
LIBC.ptrace.restype = ctypes.c_long


def ptrace(request, thread):
    if LIBC.ptrace(request, thread, None, None) != 0:
        error = ctypes.get_errno()
        raise OSError(error, f"ptrace of thread {thread}: {os.strerror(error)}")


def thread_of(pid, pattern):
    found = []
    for thread in os.listdir(f"/proc/{pid}/task"):
        with open(f"/proc/{pid}/task/{thread}/comm", encoding="utf-8") as name:
            if re.fullmatch(pattern, name.read().rstrip("\n")):
                found.append(int(thread))
    if len(found) != 1:
        sys.exit(f"{len(found)} threads of process {pid} are called {pattern}")
    return found[0]


def main():
    pid, pattern, seconds = int(sys.argv[1]), sys.argv[2], float(sys.argv[3])
    thread = thread_of(pid, pattern)
    ptrace(PTRACE_SEIZE, thread)
    ptrace(PTRACE_INTERRUPT, thread)
    os.waitpid(thread, WALL)
    print("stopped", flush=True)
    time.sleep(seconds)
    ptrace(PTRACE_DETACH, thread)  # it would go on as well if this process died
    print("continued", flush=True)


main()
