// SPDX-License-Identifier: BSD-3-Clause
#include "pmd/factory/open_device.h"

#include <cerrno>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "pmd/bridge/bridge.h"
#include "pmd/ethdev/ethdev.h"
#include "pmd/hca/hca.h"
#include "pmd/memif/memif.h"
#include "pmd/packet/packet.h"
#include "pmd/rss/software_rss.h"
#include "pmd/tun/tun.h"

namespace verbline::pmd {
namespace {

struct Opener {
    const OpenOptions& options;

    /// For a device of `queues` receive queues, each for the thread that will poll it (`with_queues`).
    PacketPools pools_of(std::uint16_t queues) const {
        return queues == options.queues ? options.pool : options.pool.beginning_with(options.owner);
    }

    Result<std::unique_ptr<NetDevice>> operator()(const TapSpec& spec) const {
        return Tun::create({.name = spec.interface,
                            .netns = spec.netns,
                            .kind = TunKind::tap,
                            .queues = spec.queues,
                            .mtu = options.mtu,
                            .persistent = options.persistent,
                            .offloads = !options.bridged},
                           pools_of(spec.queues));
    }
    Result<std::unique_ptr<NetDevice>> operator()(const EthernetSpec& spec) const {
        return AfPacket::create({.interface = spec.interface}, pools_of(1)[0]);
    }
    Result<std::unique_ptr<NetDevice>> operator()(const MemifSpec& spec) const {
        return Memif::create({.path = spec.path,
                              .server = spec.server,
                              .queues = spec.queues,
                              .log2_ring_size = options.memif_log2_ring,
                              .buffer_size = options.memif_slot,
                              .mtu = options.mtu,
                              .trust = spec.trust},
                             pools_of(spec.queues)[0]);
    }
    Result<std::unique_ptr<NetDevice>> operator()(const HcaSpec& spec) const {
        if (!options.link_layer) {
            return failure(EINVAL, fmt::format("device hca:{}/{} carries datagrams, not frames: it is for the IPoIB "
                                               "ports of verbline gateway and verbline host",
                                               spec.device, spec.port));
        }
        return Hca::create({.device = spec.device,
                            .port = spec.port,
                            .library = spec.library,
                            .queues = options.queues,
                            .receive_queues = options.receive_queues,
                            .link_layer = options.link_layer,
                            .pkey = options.pkey},
                           options.pool);
    }
    Result<std::unique_ptr<NetDevice>> operator()(const DpdkSpec& spec) const {
        return EthDevice::create(spec.devargs, options.pool,
                                 {.rx_queues = options.queues,
                                  .tx_queues = options.queues,
                                  .mtu = options.mtu,
                                  .offloads = options.offloads,
                                  .isolated = options.isolated});
    }
};

}  // namespace

Result<std::unique_ptr<NetDevice>> with_queues(std::unique_ptr<NetDevice> device, const OpenOptions& options) {
    const auto& own = device->capabilities();
    if (options.flows == nullptr || (own.rx_queues == options.queues && own.tx_queues >= options.queues)) return device;
    SoftwareRssOptions rss{.queues = options.queues, .flows = options.flows, .sockets = options.sockets};
    for (unsigned i = 0; i < own.rx_queues; ++i) {
        rss.owners.push_back(static_cast<std::uint16_t>((options.owner + i) % options.queues));
    }
    return SoftwareRss::create(std::move(device), std::move(rss));
}

Result<std::unique_ptr<NetDevice>> open_device(const DeviceSpec& spec, const OpenOptions& options) {
    auto device = std::visit(Opener{options}, spec);
    if (!device) return device;
    return with_queues(std::move(*device), options);
}

Result<std::unique_ptr<NetDevice>> open_devices(std::span<const DeviceSpec> specs, const std::string& name,
                                                const OpenOptions& options, std::function<Time()> clock) {
    if (specs.size() == 1) return open_device(specs[0], options);
    std::vector<std::unique_ptr<NetDevice>> members;
    auto of_member = options;
    of_member.bridged = true;
    for (const auto& spec : specs) {
        auto member = open_device(spec, of_member);
        if (!member) return member;
        members.push_back(std::move(*member));
        ++of_member.owner;  // so that several threads receive
    }
    return Bridge::create(name, std::move(members), options.pool[options.owner], std::move(clock));
}

}  // namespace verbline::pmd
