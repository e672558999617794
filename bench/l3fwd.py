# SPDX-License-Identifier: BSD-3-Clause
"""DPDK's example forwarder, l3fwd, beside our gateway: each on one lcore, between the same ports.

The port repeats the packets of a file from memory and frees what is sent (net_pcap with infinite_rx), so that one port is
generator and sink. One packet in 10,000 is the ARP reply of the gateway's next hop. Rates are per second that the
forwarding thread had a CPU: on a shared machine only these compare.

l3fwd is built from the distribution's DPDK source package. One line is changed, which demands of ports that they verify
checksums: net_pcap does not, and l3fwd does not look at what they say."""

import contextlib
import ipaddress
import json
import os
import pathlib
import shutil
import signal
import socket
import struct
import subprocess
import tempfile
import time

SOURCE = pathlib.Path(__file__).resolve().parent.parent / "apps/net_ipoib/dpdk_source"
PORT_MAC = "02:70:63:61:70:00"  # net_pcap0's
NEXT_HOP = ("10.7.0.2", "02:00:00:00:00:99")
OWN = "10.7.0.1"
PACKETS = 10_000
SECONDS = 2


class Failed(Exception):
    """Why it could not be measured."""


# --- the peer ---------------------------------------------------------------------------------------------------------

def source_package(directory):
    """The name of the archive of DPDK's sources there."""
    done = subprocess.run([SOURCE, str(directory)], capture_output=True, text=True, timeout=300)
    if done.returncode != 0:
        raise Failed(done.stderr.strip())
    return done.stdout.strip()


def run(directory, *command):
    done = subprocess.run([str(word) for word in command], cwd=directory, capture_output=True, text=True, timeout=300)
    if done.returncode != 0:
        words = done.stderr.strip() or done.stdout.strip() or "failed"
        raise Failed(f"{command[0]}: {words.splitlines()[-1]}")


def build(directory):
    """The path of l3fwd, built in `directory` if it is not there."""
    program = directory / "l3fwd"
    if program.exists():
        return program
    if subprocess.run(["pkg-config", "--exists", "libdpdk"]).returncode != 0:
        raise Failed("needs libdpdk-dev")
    directory.mkdir(parents=True, exist_ok=True)
    archive = source_package(directory)
    run(directory, "tar", "xf", archive, "--wildcards", "--strip-components=1", "*/examples/l3fwd", "*/examples/common")
    main = directory / "examples/l3fwd/main.c"
    main.write_text(main.read_text().replace(".offloads = RTE_ETH_RX_OFFLOAD_CHECKSUM", ".offloads = 0"))
    run(main.parent, "make", "-s")
    shutil.copy(main.parent / "build/l3fwd", program)
    return program


# --- packets ----------------------------------------------------------------------------------------------------------

def checksum(header):
    total = sum(struct.unpack(f"!{len(header) // 2}H", header))
    while total >> 16:
        total = (total & 0xffff) + (total >> 16)
    return ~total & 0xffff


def mac(text):
    return bytes.fromhex(text.replace(":", ""))


def udp(number):
    """Of 64 bytes with the FCS; flows differ in destination and source port."""
    destination = ipaddress.ip_address("198.18.0.1").packed[:3] + bytes([1 + number % 250])
    header = struct.pack("!BBHHHBBH4s4s", 0x45, 0, 46, 0, 0x4000, 64, 17, 0, bytes([10, 0, 0, 2]), destination)
    header = header[:10] + struct.pack("!H", checksum(header)) + header[12:]
    return (mac(PORT_MAC) + mac("02:00:00:00:00:02") + b"\x08\x00" + header +
            struct.pack("!HHHH", 1024 + number // 250, 9, 26, 0)).ljust(60, b"\0")


def arp_reply():
    address, station = NEXT_HOP
    return (mac(PORT_MAC) + mac(station) + b"\x08\x06" + struct.pack("!HHBBH", 1, 0x800, 6, 4, 2) + mac(station) +
            ipaddress.ip_address(address).packed + mac(PORT_MAC) + ipaddress.ip_address(OWN).packed).ljust(60, b"\0")


def udp_frames(flows):
    """Of all flows, not in order: the step is prime to their number. Room is left for one other frame."""
    return [udp(number * 7919 % flows) for number in range(PACKETS - 1)]


def write_packets(path, frames):
    with open(path, "wb") as file:
        file.write(struct.pack("<IHHiIII", 0xa1b2c3d4, 2, 4, 0, 0, 65535, 1))
        for frame in frames:
            file.write(struct.pack("<IIII", 0, 0, len(frame), len(frame)) + frame)


# --- a running forwarder ----------------------------------------------------------------------------------------------

class Telemetry:
    """Of a DPDK process, by its file prefix."""

    def __init__(self, process, prefix):
        until = time.monotonic() + 20
        while True:
            self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
            self.socket.settimeout(10)
            try:
                self.socket.connect(f"/var/run/dpdk/{prefix}/dpdk_telemetry.v2")
                break
            except OSError:
                self.socket.close()
                if process.poll() is not None or time.monotonic() > until:
                    raise Failed("it did not start; it needs 512 MB of hugepages (sysctl vm.nr_hugepages=512)") from None
                time.sleep(0.05)
        self.process = json.loads(self.socket.recv(4096))["pid"]

    def ask(self, command):
        self.socket.send(command.encode())
        return next(iter(json.loads(self.socket.recv(65536)).values()))

    def sent(self):
        found = self.ask("/ethdev/stats,0")  # nothing, until there is a port
        return found["opackets"] if found else 0

    def on_cpu(self):
        """Nanoseconds by thread."""
        tasks = pathlib.Path(f"/proc/{self.process}/task")
        return {task.name: int((task / "schedstat").read_text().split()[0]) for task in tasks.iterdir()}


def rate(process, prefix):
    """Millions of packets for each second that the busiest thread, which forwards, had a CPU."""
    telemetry = Telemetry(process, prefix)
    until = time.monotonic() + 10
    while telemetry.sent() == 0:
        if time.monotonic() > until:
            raise Failed("nothing was forwarded")
        time.sleep(0.05)
    time.sleep(0.5)  # the first packets wait for the next hop
    sent, on_cpu = telemetry.sent(), telemetry.on_cpu()
    time.sleep(SECONDS)
    sent, after = telemetry.sent() - sent, telemetry.on_cpu()
    return sent / max(after[thread] - on_cpu.get(thread, 0) for thread in after) * 1e3


@contextlib.contextmanager
def running(command):
    process = subprocess.Popen([str(word) for word in command], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                               start_new_session=True)
    try:
        yield process
    finally:
        process.terminate()
        try:
            process.wait(10)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()


@contextlib.contextmanager
def fed(frames):
    """A directory, and the port that repeats these frames."""
    with tempfile.TemporaryDirectory(prefix="l3fwd-") as directory:
        file = pathlib.Path(directory) / "packets.pcap"
        write_packets(file, frames)
        yield pathlib.Path(directory), f"net_pcap0,rx_pcap={file},infinite_rx=1"


def ethernet_frames(flows):
    return udp_frames(flows) + [arp_reply()]


def peer_rate(program, flows):
    """l3fwd with its longest-prefix match, in whose own table 198.18.0.0/24 is behind the port."""
    prefix = f"l3fwd-{os.getpid()}"
    with fed(ethernet_frames(flows)) as (_, port):
        command = [program, "-l", "1", "-n", "1", "--no-pci", "--in-memory", "--file-prefix", prefix, f"--vdev={port}", "--",
                   "-p", "0x1", "-P", "--parse-ptype", "--lookup=lpm", "--rx-queue-size=16384", "--config=(0,0,1)"]
        with running(command) as process:
            return rate(process, prefix)


CONFIGURATION = """name = "{name}"
[[port]]
name = "pin"
type = "ethernet"
device = "dpdk:{port}"
address = ["10.7.0.1/24"]
[[route]]
to = "198.18.0.0/16"
via = "{next_hop}"
"""


def our_rate(verbline, flows):
    """A gateway of one port."""
    return gateway_rate(verbline, ethernet_frames(flows), CONFIGURATION, NEXT_HOP[0])


def gateway_rate(verbline, frames, configuration, next_hop):
    """Of a gateway that is fed with these frames, in a network namespace of its own."""
    name = f"bench-{os.getpid()}"
    with fed(frames) as (directory, port):
        (directory / "gateway.toml").write_text(configuration.format(name=name, port=port, next_hop=next_hop))
        subprocess.run(["ip", "netns", "add", name], check=True)
        try:
            with running(["ip", "netns", "exec", name, verbline, "-l", "0,1", "--no-pci", "--in-memory", "--", "gateway",
                          directory / "gateway.toml"]) as process:
                return rate(process, f"verbline-{name}")
        finally:
            subprocess.run(["ip", "netns", "delete", name], check=True)
