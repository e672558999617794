# SPDX-License-Identifier: BSD-3-Clause
"""DPDK's testpmd beside `verbline bench packet`: each on one lcore, on the same port, with the same burst and frames of 64 bytes.

The port is net_null, which makes what is received and frees what is sent. Rates are those of l3fwd.py: for each second that the
polling thread had a CPU."""

import os
import shutil

from l3fwd import Failed, ethernet_frames, fed, rate, running

PORT = "net_null0"
EAL = ["-l", "0,1", "--no-pci", "--no-huge", "-m", "512"]


def program():
    found = shutil.which("dpdk-testpmd")
    if found is None:
        raise Failed("needs dpdk-testpmd, of Debian's dpdk-dev")
    return found


def peer_rate(mode):
    """Of a forwarding mode: txonly, io, macswap. Sizes are without the frame check sequence here."""
    prefix = f"testpmd-{os.getpid()}"
    # With a period for statistics it does not wait for a key, and so not end without a terminal.
    command = [program(), *EAL, "--file-prefix", prefix, f"--vdev={PORT},size=60", "--", f"--forward-mode={mode}",
               "--txpkts=60", "--total-num-mbufs=16384", "--burst=32", "--port-topology=loop", "--no-mlockall",
               "--stats-period=60"]
    with running(command) as process:
        return rate(process, prefix)


def net_ipoib_rate(driver):
    """Of the driver net_ipoib on its carrier without a wire: macswap, as a frame that comes back as it is would be to the port itself.
    With hugepages, as an IPoIB router has them."""
    prefix = f"testpmd-{os.getpid()}"
    command = [program(), "-l", "0,1", "-n", "1", "--no-pci", "--in-memory", "--file-prefix", prefix, "-d", driver,
               "--vdev=net_ipoib0,device=null", "--", "--forward-mode=macswap", "--total-num-mbufs=16384", "--mbuf-size=2304", "--burst=32",
               "--port-topology=loop", "--no-mlockall", "--stats-period=60"]
    with running(command) as process:
        return rate(process, prefix)


def pcap_rate(mode, flows):
    """Of a forwarding mode on the port that l3fwd and the gateway forward on, with hugepages as they have."""
    prefix = f"testpmd-{os.getpid()}"
    with fed(ethernet_frames(flows)) as (_, port):
        command = [program(), "-l", "0,1", "-n", "1", "--no-pci", "--in-memory", "--file-prefix", prefix, f"--vdev={port}", "--",
                   f"--forward-mode={mode}", "--total-num-mbufs=65536", "--burst=32", "--port-topology=loop",
                   "--no-mlockall", "--stats-period=60"]
        with running(command) as process:
            return rate(process, prefix)


def our_rate(verbline, arguments):
    command = [verbline, *EAL, f"--vdev={PORT},size=60", "--", "bench", "packet", f"dpdk:{PORT}", "--seconds", "60",
               *arguments]
    with running(command) as process:
        return rate(process, f"verbline-bench-{process.pid}")
