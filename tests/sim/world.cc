// SPDX-License-Identifier: BSD-3-Clause
#include "tests/sim/world.h"

#include <algorithm>
#include <numeric>
#include <string>
#include <utility>

#include "datapath/link/ip_gid.h"
#include "tests/support/counter.h"

namespace verbline::sim {
namespace {

wire::Ipv6Address ipv6_of(std::uint8_t n) {
    wire::Ipv6Address address;
    address.bytes[0] = std::byte{0xfd};
    address.bytes[15] = std::byte{n};
    return address;
}

/// DPDK's tables are named by process, and a test makes many worlds.
std::string unique_name() {
    static unsigned made = 0;
    return "sim" + std::to_string(made++);
}

}  // namespace

std::uint64_t Host::counter(std::string_view name) const {
    return test::counter(*device_, name);
}

Host& World::add_host(const HostSetup& setup) {
    const auto n = static_cast<std::uint8_t>(hosts_.size() + 1);
    auto& host = *hosts_.emplace_back(std::make_unique<Host>());
    host.mac_ = {{std::byte{2}, std::byte{0}, std::byte{0}, std::byte{0}, std::byte{0}, std::byte{n}}};
    auto port = setup.port;
    port.mac = host.mac_;
    host.port_ = &network_.add_port(port);
    std::vector<std::uint16_t> queues(setup.shards, 0);
    if (port.rss) std::iota(queues.begin(), queues.end(), std::uint16_t{0});  // else all poll the only one
    auto device =
        rdma::Device::create({.name = unique_name(),
                              .device = host.port_,
                              .queues = queues,
                              .pool = &network_.pool(),
                              .mac = host.mac_,
                              .ecn = setup.ecn,
                              .on_event = [&host](const transport::AsyncEvent& e) { host.events_.push_back(e); },
                              .max_queue_pairs = setup.max_queue_pairs,
                              .max_kept_packets = setup.max_kept_packets,
                              .start = now_});
    if (!device) throw std::runtime_error(device.error().what);
    host.device_ = std::move(*device);
    host.device_->change_gids([&](link::GidTable& gids) {
        gids.add_interface(1, host.mac_);
        gids.add_address(1, link::gid_of(wire::ipv4(10, 0, 0, n)));
        gids.add_address(1, link::gid_of(ipv6_of(n)));
    });
    return host;
}

rdma::Path World::path(const Host&, Host& to, unsigned gid_index) const {
    return {.gid_index = gid_index,
            .address = {.global = true, .dgid = to.device().gids().at(gid_index)->gid, .hop_limit = 64},
            .mac = to.mac()};
}

void World::settle() {
    network_.advance(now_);
    // A shard that waits for its port, or for packets to be freed, is busy until time goes on.
    constexpr unsigned patience = 64;
    auto moved = network_.moved();
    for (unsigned idle = 0; idle < patience; ++idle) {
        bool busy = false;
        for (auto& host : hosts_) {
            if (host->stopped_) continue;
            if (host->port().waiting() != 0) idle = 0;
            for (unsigned shard = 0; shard < host->device().shards(); ++shard) {
                const bool worked = host->device().poll(shard, now_);
                busy |= worked && (!host->port().full() || host->port().waiting() != 0);
            }
        }
        // What takes no time at all has arrived already.
        const auto next = network_.next_event();
        if (next && *next <= now_) network_.advance(now_);
        if (!busy) return;
        if (std::exchange(moved, network_.moved()) != network_.moved()) idle = 0;
    }
}

bool World::step(Time limit) {
    settle();
    std::optional<Time> next = network_.next_event();
    for (auto& host : hosts_) {
        if (host->stopped_) continue;
        for (unsigned shard = 0; shard < host->device().shards(); ++shard) {
            const auto due = host->device().next_deadline(shard);
            if (due && (!next || *due < *next)) next = due;
        }
    }
    if (!next || *next > limit) {
        now_ = std::max(now_, limit);
        return false;
    }
    // A host that waits for its port says "now": the port has room again when the network moves.
    if (*next <= now_) next = network_.next_event().value_or(now_ + microsecond);
    now_ = std::max(*next, now_ + 1);
    return true;
}

bool World::run_until(const std::function<bool()>& done, Time limit) {
    const auto end = now_ + limit;
    while (!done()) {
        if (!step(end)) {
            settle();
            return done();
        }
    }
    return true;
}

void World::run_for(Time duration) {
    const auto end = now_ + duration;
    while (step(end)) {}
    settle();
}

}  // namespace verbline::sim
