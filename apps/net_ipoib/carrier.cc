// SPDX-License-Identifier: BSD-3-Clause
#include "apps/net_ipoib/carrier.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "apps/net_ipoib/null_carrier.h"
#include "datapath/ipoib/interface.h"
#include "datapath/wire/ethernet.h"
#include "pmd/factory/open_device.h"
#include "pmd/rss/locked_transmit.h"

namespace verbline::net_ipoib {
namespace {

/// `transmit`: queues that are wanted, of which an adapter has as many as it is asked for.
Result<std::unique_ptr<pmd::NetDevice>> open_own(const Arguments& arguments, const Carrier::Setup& setup,
                                                 std::uint16_t transmit) {
    if (!arguments.device) return NullCarrier::create(setup.pools, most_queues, arguments.null_packet);
    pmd::OpenOptions options{.pool = setup.pools,
                             .mtu = static_cast<std::uint16_t>(setup.frame_bytes - wire::Ethernet::size),
                             .queues = arguments.adapter() ? transmit : arguments.device_queues(),
                             .persistent = false,
                             .link_layer = arguments.roce ? pmd::LinkLayer::ethernet : pmd::LinkLayer::infiniband,
                             .receive_queues = arguments.device_queues()};
    if (!arguments.roce) options.pkey = arguments.pkey;
    return pmd::open_device(*arguments.device, options);
}

/// The longest packet of the port must fit the device: what an interface or an adapter carries is not ours to set.
Result<void> check_room(const pmd::NetDevice& device, const Arguments& arguments, std::uint32_t frame_bytes) {
    const auto most = device.capabilities().max_packet;
    const bool datagrams = device.capabilities().carries == pmd::Carries::datagram;
    const auto needed = datagrams ? ipoib::link_mtu_of(arguments.mtu) : frame_bytes;
    if (!arguments.device_is_of_kernel() || needed <= most) return {};
    return failure(EINVAL, fmt::format("mtu={} takes {} of {} bytes, and {} carries {}", arguments.mtu,
                                       datagrams ? "datagrams" : "frames", needed, device.name(), most));
}

}  // namespace

bool Carrier::spreads(const Arguments& arguments, std::size_t receive_queues) {
    return arguments.device && arguments.device_queues() != receive_queues;
}

Result<Carrier> Carrier::open(const Arguments& arguments, const Setup& setup) {
    const bool spread = spreads(arguments, setup.receive);
    const auto transmit = spread ? std::max(setup.transmit, setup.receive) : setup.transmit;
    auto device = open_own(arguments, setup, transmit);
    if (!device) return std::unexpected(device.error());
    if (auto fits = check_room(**device, arguments, setup.frame_bytes); !fits) return std::unexpected(fits.error());
    if ((*device)->capabilities().tx_queues < transmit) {
        auto locked = pmd::LockedTransmit::create(std::move(*device), transmit);
        if (!locked) return std::unexpected(locked.error());
        device = std::move(*locked);
    }
    if (!spread) return Carrier{.device = std::move(*device)};
    pmd::SoftwareRssOptions options{.queues = setup.receive, .flows = setup.flows, .redirection = setup.redirection};
    for (std::uint16_t i = 0; i < (*device)->capabilities().rx_queues; ++i)
        options.owners.push_back(static_cast<std::uint16_t>(i % setup.receive));
    auto made = pmd::SoftwareRss::create(std::move(*device), std::move(options));
    if (!made) return std::unexpected(made.error());
    auto* const spreading = made->get();
    return Carrier{.device = std::move(*made), .spreading = spreading};
}

}  // namespace verbline::net_ipoib
