// SPDX-License-Identifier: BSD-3-Clause
#include "apps/net_ipoib/carrier.h"

#include <algorithm>
#include <utility>

#include "apps/net_ipoib/null_carrier.h"
#include "datapath/wire/ethernet.h"
#include "pmd/factory/open_device.h"
#include "pmd/rss/locked_transmit.h"

namespace verbline::net_ipoib {
namespace {

Result<std::unique_ptr<pmd::NetDevice>> open_own(const Arguments& arguments, const Carrier::Setup& setup) {
    if (!arguments.device) return NullCarrier::create(setup.pools, most_queues, arguments.null_packet);
    const auto mtu = static_cast<std::uint16_t>(setup.frame_bytes - wire::Ethernet::size);
    return pmd::open_device(
        *arguments.device, {.pool = setup.pools, .mtu = mtu, .queues = arguments.device_queues(), .persistent = false});
}

}  // namespace

bool Carrier::spreads(const Arguments& arguments, std::size_t receive_queues) {
    return arguments.device && arguments.device_queues() != receive_queues;
}

Result<Carrier> Carrier::open(const Arguments& arguments, const Setup& setup) {
    auto device = open_own(arguments, setup);
    if (!device) return std::unexpected(device.error());
    const bool spread = spreads(arguments, setup.receive);
    const auto transmit = spread ? std::max(setup.transmit, setup.receive) : setup.transmit;
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
