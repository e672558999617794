// SPDX-License-Identifier: BSD-3-Clause
#include "datapath/router/port.h"

namespace verbline::router {
namespace {

decltype(ShardPort::any) make_link(const PortSetup& setup, std::uint16_t queue, rte_mempool& pool) {
    if (setup.kind == PortSetup::Kind::ipoib) {
        return std::make_unique<ipoib::IpoibInterface>(*setup.device, queue, pool, setup.connections);
    }
    return std::make_unique<link::EthernetInterface>(*setup.device, queue, pool);
}

}  // namespace

ShardPort::ShardPort(const PortSetup& setup, InterfaceId number, std::uint16_t queue, rte_mempool& pool)
    : id(number),
      name(setup.name),
      any(make_link(setup, queue, pool)),
      kernel(*setup.kernel),
      kernel_capabilities(kernel.capabilities()),
      mtu(setup.mtu),
      datagram_mtu(setup.connections != nullptr ? setup.connections->datagram_mtu() : setup.mtu),
      connections(setup.connections),
      clamp_mss(setup.clamp_mss),
      reverse_path(setup.reverse_path),
      advertises(setup.advertises),
      multicast(setup.multicast) {
    if (setup.program != nullptr) program.emplace(*setup.program, queue);
}

}  // namespace verbline::router
