// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// A running gateway or host: the ports of a configuration, the shards that route between them, its routes and tables.
/// A host is a gateway of one IPoIB port that delivers everything it receives to the kernel.
///
///     open_subnets ──> the program starts DPDK ──> start ──> control loop runs, lcores poll ──> ~Gateway
///
/// Everything here belongs to the thread of the loop, but for the shards, each of which an lcore polls.

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "control/gateway/changes.h"
#include "control/gateway/config.h"
#include "control/gateway/dhcp_relays.h"
#include "control/gateway/fault.h"
#include "control/gateway/full_tables.h"
#include "control/gateway/gateway_port.h"
#include "control/gateway/multicast.h"
#include "control/gateway/programs.h"
#include "control/gateway/shards.h"
#include "control/gateway/tables.h"
#include "control/host/netlink.h"
#include "control/loop/loop.h"
#include "control/router/kernel_follower.h"
#include "control/router/proxying.h"
#include "control/router/shard_links.h"
#include "control/telemetry/command_server.h"
#include "control/telemetry/server.h"
#include "datapath/forward/fib.h"
#include "datapath/link/flow_hash.h"
#include "pmd/capture/capture_file.h"
#include "pmd/packet_pools.h"

struct rte_rcu_qsbr;

namespace verbline::gateway {

struct Setup {
    GatewayConfig config;                ///< checked
    std::string capture;                 ///< pcapng of all ports; empty: none
    bool deliver_all_to_kernel = false;  ///< a host
    /// Called once, when the gateway forwards. `ports`: their names and addresses.
    std::function<void(const std::string& ports)> on_ready;
    /// Called when a lasting fault begins or ends, with one line.
    std::function<void(const std::string& line)> on_trouble;
};

class Gateway {
public:
    /// `setup` and `loop` must outlive the gateway.
    Gateway(control::Loop& loop, const Setup& setup)
        : loop_(loop), setup_(setup), config_(setup.config), full_tables_(config_.limits, setup.on_trouble) {}
    Gateway(const Gateway&) = delete;
    Gateway& operator=(const Gateway&) = delete;
    /// Stops the shards, leaves the multicast groups, for which it waits at most half a second, and removes the
    /// interfaces. DPDK must still run.
    ~Gateway();

    /// Reaches the subnet managers and checks the ports against them; nothing is started.
    Outcome open_subnets();
    /// Starts everything; DPDK runs. From now on each of `workers`, one at least, polls a shard; they must outlive the
    /// gateway, as must `traces`, by shard, which may be fewer. After a failure only destruction is allowed, which
    /// leaves nothing behind.
    Outcome start(Shards::Workers& workers, std::span<pmd::TraceRing* const> traces = {});

    // After start.

    /// Whether no shard stands still.
    bool shards_poll() const { return shards_->all_poll(); }
    /// Whether on_ready has been called.
    bool ready() const { return ready_; }
    /// Names and addresses of the ports, as on_ready is given them.
    std::string ports_text() const;
    /// Changes to another configuration, checked, as far as a running gateway can; flows go on. Returns one line about
    /// what has changed. After an error, which says why in one line, nothing has.
    Result<std::string> reload(const GatewayConfig& wanted);

private:
    Outcome make_links(std::span<const int> sockets);
    Outcome make_pools();
    Outcome make_fibs();
    Outcome load_programs();
    Outcome open_devices();
    void make_shards(Shards::Workers& workers, std::span<pmd::TraceRing* const> traces);
    void warn_of_placement();
    Outcome start_ports();
    Outcome configure_kernel();
    Outcome start_proxies();
    Result<void> prepare_proxying();
    Outcome start_dhcp_relays();
    Outcome add_routes();
    Outcome serve_tables();
    Outcome serve_commands();
    Outcome start_shards();

    void handle(const router::Event& event);
    void resolve_conflict(const GatewayPort& port, const neighbour::Conflict& conflict);
    void report_yielded(const GatewayPort& port, const neighbour::Yielded& yielded) const;
    Result<std::string> run_command(const telemetry::Json& request);
    using Captures = std::vector<std::pair<std::size_t, std::unique_ptr<pmd::CaptureFile>>>;
    Result<Captures> open_captures(const Changes& changes, const GatewayConfig& wanted) const;
    void change(GatewayPort& port, Setting setting);
    void tell_relays();
    void upkeep();
    void tell_daemons(const GatewayPort& port);
    void report_when_ready();
    View view();

    struct FreeReaders {
        void operator()(rte_rcu_qsbr* readers) const;
    };

    // In the order of their creation.
    control::Loop& loop_;
    const Setup& setup_;
    GatewayConfig config_;  ///< as it is now; what of it changes says changes.h
    FullTables full_tables_;
    std::vector<int> sockets_;          ///< of the shards
    pmd::PacketPools pools_ = nullptr;  ///< by shard; they go with the EAL
    std::unique_ptr<rte_rcu_qsbr, FreeReaders> readers_;
    std::unique_ptr<forward::Fib> fib_;
    std::unique_ptr<forward::Ipv6Fib> ipv6_fib_;
    host::Ipv6Gateways ipv6_gateways_;
    std::unique_ptr<router::ShardLinks> shard_links_;
    std::unique_ptr<Programs> programs_;
    std::unique_ptr<link::FrameFlowHash>
        flows_;  ///< spreads packets: over queues for devices with too few, over next hops
    std::unique_ptr<pmd::CaptureFile> capture_;  ///< of all ports; outlives their devices
    std::vector<std::unique_ptr<GatewayPort>> ports_;
    std::optional<Multicast> multicast_;
    std::unique_ptr<Shards> shards_;
    std::vector<std::string> warnings_;  ///< of where they run (placement.h)
    std::unique_ptr<router::KernelFollower> follower_;
    std::vector<int> ifindexes_;                ///< of the ports' interfaces
    std::optional<host::Netlink> host_routes_;  ///< sets the routes of `proxying_`
    std::optional<router::Proxying> proxying_;
    std::optional<DhcpRelays> dhcp_relays_;
    std::optional<telemetry::Server> telemetry_;
    std::unique_ptr<telemetry::CommandServer> commands_;
    control::Timer upkeep_timer_;
    bool ready_ = false;
    bool capture_failed_ = false;
};

}  // namespace verbline::gateway
