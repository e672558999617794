#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""verbs_pyverbs.py DIRECTORY [ARGUMENT...]: runs rdma-core's suite in DIRECTORY, with tests of rdma_cm, on a lane of a hub.

Those tests fork two processes that meet at one address, the kernel's for the device. Of ours each process is a host by itself,
with the address that the hub gave it. So three things are told otherwise, and nothing else is changed: a process's own address is
that of its GIDs; the active side connects to the passive's, which it is told through the test's own queue; and the group, which
the suite makes of the address, is the same for both."""

import os
import sys
import unittest
from importlib.machinery import SourceFileLoader

GROUP = "239.9.0.1"
MAPPED = "0000:0000:0000:0000:0000:ffff:"  # an IPv4 address as a GID


def own_address(device):
    import pyverbs.device

    with pyverbs.device.Context(name=device) as context:
        for index in range(context.query_port(1).gid_tbl_len):
            gid = context.query_gid(1, index).gid
            if gid.startswith(MAPPED):
                return ".".join(str(byte) for byte in bytes.fromhex(gid[len(MAPPED):].replace(":", "")))
    raise unittest.SkipTest(f"{device} has no IPv4 address")


def with_addresses(flow, group):
    """The flow of either side, in its own process."""

    def run(self, passive=None, **arguments):
        from tests import base_rdmacm

        self.ip_addr = own_address(self.dev_name)
        if not group and passive:
            self.notifier.put(self.ip_addr)
        peer = self.notifier.get() if not group and not passive else self.ip_addr
        known = base_rdmacm.AddrInfo

        def address_info(src=None, dst=None, **others):
            return known(src=src, dst=peer if dst else None, **others)

        base_rdmacm.AddrInfo = address_info
        flow(self, passive=passive, **arguments)

    return run


def with_group(call):
    def run(self, mc_addr=None, **arguments):
        return call(self, mc_addr=GROUP, **arguments)

    return run


def each_process_is_a_host():
    from tests import base, rdmacm_utils

    test, connection = base.RDMACMBaseTest, rdmacm_utils.CMAsyncConnection
    # Not known before the two processes run, but there will be one.
    test._get_ip_mac = lambda self, device, port, index: self.args.append([device, port, index, "its own", None])
    test.rdmacm_traffic = with_addresses(test.rdmacm_traffic, group=False)
    test.rdmacm_remote_traffic = with_addresses(test.rdmacm_remote_traffic, group=False)
    test.rdmacm_multicast_traffic = with_addresses(test.rdmacm_multicast_traffic, group=True)
    connection.join_to_multicast = with_group(connection.join_to_multicast)
    connection.leave_multicast = with_group(connection.leave_multicast)


def main():
    directory = os.path.abspath(sys.argv.pop(1))
    sys.path.insert(0, directory)
    from args_parser import parser

    tests = SourceFileLoader("tests", os.path.join(directory, "__init__.py")).load_module()
    each_process_is_a_host()
    parser.parse_args()
    unittest.main(module=tests)


if __name__ == "__main__":
    main()
