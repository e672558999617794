// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// Hosts with RDMA devices on one simulated network, driven together at virtual time.
///
///     World world(Seed{7});
///     auto& a = world.add_host();
///     auto& b = world.add_host({.port = {.in = {.random = {.loss = 0.01}}}});
///     auto pair = world.connect_rc(a, b);
///     pair.a->post(...);
///     world.run_until([&] { return ...; });

#include <array>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "datapath/link/gid_table.h"
#include "datapath/rdma/queue_pair.h"
#include "tests/sim/network.h"

namespace verbline::sim {

struct HostSetup {
    PortSetup port{};
    unsigned shards = 1;
    bool ecn = true;
    std::uint32_t max_kept_packets = 4096;
    std::uint32_t max_queue_pairs = 4096;
};

class Host {
public:
    rdma::Device& device() { return *device_; }
    SimulatedPort& port() { return *port_; }
    wire::MacAddress mac() const { return mac_; }
    /// Entries 0 and 1: link-local, RoCE v1 and v2; 2 and 3: 10.0.0.n; 4 and 5: fd00::n.
    unsigned gid_v1() const { return 0; }
    unsigned gid_v2_ipv4() const { return 3; }
    unsigned gid_v2_ipv6() const { return 5; }
    std::vector<transport::AsyncEvent>& events() { return events_; }
    std::uint64_t counter(std::string_view name) const;

private:
    friend class World;

    wire::MacAddress mac_;
    SimulatedPort* port_ = nullptr;
    bool stopped_ = false;
    std::vector<transport::AsyncEvent> events_;
    std::unique_ptr<rdma::Device> device_;
};

class World {
public:
    /// Frames come from `pool`; `packet_pool()` of tests/support/eal.h suffices up to path MTU 1024.
    World(Seed seed, rte_mempool& pool) : network_(seed, pool) {}

    Host& add_host(const HostSetup& setup = {});
    Host& host(std::size_t index) { return *hosts_[index]; }
    std::size_t hosts() const { return hosts_.size(); }

    /// The path from one host to another over GID entries of the same index.
    rdma::Path path(const Host& from, Host& to, unsigned gid_index) const;

    /// Lets everything happen that happens now; then moves to the next time at which something does, but not beyond
    /// `limit`. False: nothing will, or not by then.
    bool step(Time limit);
    /// True if `done` was true before `limit` nanoseconds had passed.
    bool run_until(const std::function<bool()>& done, Time limit = 60 * second);
    void run_for(Time duration);

    /// Time goes on, and nobody looks: all hosts are suspended. What arrives meanwhile is there when they wake.
    void suspend(Time duration) { now_ += duration; }
    /// Nobody polls this one until it is resumed.
    static void stop(Host& host) { host.stopped_ = true; }
    static void resume(Host& host) { host.stopped_ = false; }

    Network& network() { return network_; }
    Time now() const { return now_; }

private:
    void settle();

    Network network_;
    std::vector<std::unique_ptr<Host>> hosts_;
    Time now_ = 0;
};

}  // namespace verbline::sim
