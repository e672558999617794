// SPDX-License-Identifier: BSD-3-Clause
#include "control/gateway/gateway.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <set>
#include <utility>

#include <rte_eal.h>
#include <rte_mbuf.h>
#include <rte_rcu_qsbr.h>

#include <fmt/format.h>

#include "control/gateway/kernel_changes.h"
#include "control/gateway/memory_policy.h"
#include "control/gateway/placement.h"
#include "control/gateway/table_limits.h"
#include "control/host/kernel_interface.h"
#include "pmd/base/clock.h"
#include "pmd/base/tunables.h"
#include "pmd/packet_pool.h"

namespace verbline::gateway {
namespace {

constexpr unsigned pool_cache = 256;
constexpr std::uint16_t pool_data_room = RTE_PKTMBUF_HEADROOM + 2304;  ///< any frame of a 2048-byte link
constexpr Time leave_limit = 500 * millisecond;
constexpr Time upkeep_period = 50 * millisecond;

/// A port of DPDK may be one of AF_XDP.
pmd::BufferLayout buffer_layout(const GatewayConfig& config) {
    const auto is_dpdk = [](const std::string& device) { return device.starts_with("dpdk:"); };
    const auto has_one = [&](const PortConfig& port) { return std::ranges::any_of(port.devices, is_dpdk); };
    return std::ranges::any_of(config.ports, has_one) ? pmd::BufferLayout::whole_pages : pmd::BufferLayout::packed;
}

}  // namespace

void Gateway::FreeReaders::operator()(rte_rcu_qsbr* readers) const {
    std::free(readers);
}

Outcome Gateway::open_subnets() {
    for (const auto& port : config_.ports) {
        const auto id = static_cast<forward::InterfaceId>(ports_.size());
        ports_.push_back(std::make_unique<GatewayPort>(config_, port, id));
        const auto parent = std::ranges::find_if(
            ports_, [&](const auto& each) { return each->first_of_subnet() && each->config().sm == port.sm; });
        const auto* const same = parent != ports_.end() ? parent->get() : nullptr;
        if (auto opened = ports_.back()->open_subnet(loop_, same); !opened) return opened;
    }
    return {};
}

Outcome Gateway::start(Shards::Workers& workers, std::span<pmd::TraceRing* const> traces) {
    sockets_ = Shards::sockets(workers);
    if (auto made = make_links(sockets_); !made) return made;
    for (const auto step :
         {&Gateway::make_pools, &Gateway::make_fibs, &Gateway::load_programs, &Gateway::open_devices}) {
        if (auto result = (this->*step)(); !result) return result;
    }
    make_shards(workers, traces);
    warn_of_placement();
    for (const auto step :
         {&Gateway::start_ports, &Gateway::configure_kernel, &Gateway::start_proxies, &Gateway::start_dhcp_relays,
          &Gateway::serve_tables, &Gateway::serve_commands, &Gateway::start_shards}) {
        if (auto result = (this->*step)(); !result) return result;
    }
    return add_routes();
}

Outcome Gateway::make_links(std::span<const int> sockets) {
    auto links =
        router::ShardLinks::create(loop_, "shard", sockets, [this](const router::Event& event) { handle(event); });
    if (!links) return fault(links.error().what);
    shard_links_ = std::move(*links);
    flows_ = std::make_unique<link::FrameFlowHash>(link::FrameFlowHash::random_key());
    return {};
}

Outcome Gateway::make_pools() {
    const auto placement = place_pools(sockets_);
    std::vector<rte_mempool*> pools, by_shard;
    for (const auto& [socket, shards] : placement.pools) {
        const auto name = pools.empty() ? std::string("packets") : fmt::format("packets{}", socket);
        const auto make = [&, packets = tunables::router_packets * shards](int where) {
            return pmd::make_packet_pool(name.c_str(), packets, pool_cache, pool_data_room, where,
                                         buffer_layout(config_));
        };
        auto* pool = make(socket);
        if (pool == nullptr && socket != SOCKET_ID_ANY) {
            pool = make(SOCKET_ID_ANY);
            if (pool != nullptr) {
                setup_.on_trouble(fmt::format(
                    "no memory for packets on NUMA socket {}: they lie on another; give it hugepages", socket));
            }
        }
        if (pool == nullptr) return fault("no memory for packets: give more with -m, or free hugepages");
        pools.push_back(pool);
    }
    for (const auto pool : placement.by_shard) by_shard.push_back(pools[pool]);
    pools_ = pmd::PacketPools(std::move(by_shard));
    return {};
}

Outcome Gateway::make_fibs() {
    const auto size = rte_rcu_qsbr_get_memsize(RTE_MAX_LCORE);
    readers_.reset(static_cast<rte_rcu_qsbr*>(std::aligned_alloc(RTE_CACHE_LINE_SIZE, size)));
    if (readers_ == nullptr) return fault("no memory for the readers of the forwarding table");
    rte_rcu_qsbr_init(readers_.get(), RTE_MAX_LCORE);
    auto fib = forward::Fib::create(fib_config(config_.limits), *readers_);
    if (!fib) return fault(fib.error().what);
    fib_ = std::move(*fib);
    auto ipv6_fib = forward::Ipv6Fib::create(ipv6_fib_config(config_.limits), *readers_);
    if (!ipv6_fib) return fault(ipv6_fib.error().what);
    ipv6_fib_ = std::move(*ipv6_fib);
    return {};
}

Outcome Gateway::load_programs() {
    programs_ = std::make_unique<Programs>(config_.ports, shard_links_->size(), *readers_);
    auto loaded = programs_->load_all(config_);
    if (!loaded) return std::unexpected(Fault{.of_config = true, .what = std::move(loaded.error().what)});
    return {};
}

Outcome Gateway::open_devices() {
    if (!setup_.capture.empty()) {
        auto file = pmd::CaptureFile::create(setup_.capture);
        if (!file) return fault(file.error().what);
        capture_ = std::move(*file);
    }
    LinkDevices links(config_);
    const GatewayPort::DeviceSetup setup{.pools = pools_,
                                         .sockets = sockets_,
                                         .capture = capture_.get(),
                                         .queues = static_cast<std::uint16_t>(shard_links_->size()),
                                         .flows = *flows_,
                                         .links = links};
    for (std::size_t i = 0; i < ports_.size(); ++i) {
        const MemoryOnSocket near(sockets_[i % sockets_.size()]);  // of the shard that polls the first queue
        if (auto opened = ports_[i]->open_devices(setup); !opened) return opened;
    }
    return {};
}

void Gateway::make_shards(Shards::Workers& workers, std::span<pmd::TraceRing* const> traces) {
    router::ShardSetup common{.fib = fib_.get(),
                              .ipv6_fib = ipv6_fib_.get(),
                              .readers = readers_.get(),
                              .flows = flows_.get(),
                              .max_neighbours = config_.limits.neighbours,
                              .deliver_all_to_kernel = setup_.deliver_all_to_kernel};
    for (const auto& port : ports_) {
        auto setup = port->shard_setup();
        setup.program = &programs_->engine(static_cast<std::size_t>(port->id()));
        common.ports.push_back(std::move(setup));
    }
    shards_ = std::make_unique<Shards>(common, *shard_links_, pools_, workers, traces);
}

/// Says each thing once, though several shards may be on one socket.
void Gateway::warn_of_placement() {
    std::vector<PlacedPort> places;
    for (const auto& port : ports_) places.push_back({port->name(), port->device().numa_socket()});
    warnings_ = placement_warnings(sockets_, places);
    for (const auto& warning : std::set<std::string>(warnings_.begin(), warnings_.end())) {
        if (!warning.empty()) setup_.on_trouble(warning);
    }
}

Outcome Gateway::start_ports() {
    for (auto& port : ports_) {
        port->start(loop_, *shard_links_, *pools_[static_cast<std::size_t>(port->id())], ipv6_gateways_,
                    !setup_.deliver_all_to_kernel);
        port->port().on_change([this] { report_when_ready(); });
        port->port().on_conflict(
            [this, &port = *port](const neighbour::Conflict& conflict) { resolve_conflict(port, conflict); });
        port->port().on_yielded(
            [this, &port = *port](const neighbour::Yielded& yielded) { report_yielded(port, yielded); });
        if (auto* ipoib = port->ipoib()) {
            ipoib->on_trouble(
                [report = setup_.on_trouble, name = port->name(), said = false](const std::string& trouble) mutable {
                    if (trouble.empty() && !said) return;
                    said = !trouble.empty();
                    report(fmt::format("{}: {}", name, said ? trouble : "all is well again"));
                });
        }
        if (auto up = outcome(port->device().up()); !up) return up;
    }
    multicast_.emplace(ports_, *shard_links_, !setup_.deliver_all_to_kernel);
    upkeep_timer_ = loop_.every(upkeep_period, [this] { upkeep(); });
    return {};
}

Outcome Gateway::configure_kernel() {
    auto netlink = host::Netlink::open(config_.netns);
    if (!netlink) return fault(netlink.error().what);
    auto follower = router::KernelFollower::open(loop_, config_.netns, {*fib_, *ipv6_fib_, ipv6_gateways_},
                                                 [this](forward::InterfaceId id, const host::InterfaceState& state) {
                                                     // Before the port, which may follow the kernel further.
                                                     if (dhcp_relays_) dhcp_relays_->set_addresses(id, state.addresses);
                                                     ports_[static_cast<std::size_t>(id)]->port().set_addresses(
                                                         state.addresses, state.certain);
                                                 });
    if (!follower) return fault(follower.error().what);
    follower_ = std::move(*follower);
    for (const auto& port : ports_) {
        const auto& config = port->config();
        const auto ifindex = host::configure(*netlink, {config.name, config.mtu, config.addresses});
        if (!ifindex) return fault(fmt::format("port {}: {}", config.name, ifindex.error().what));
        ifindexes_.push_back(*ifindex);
        follower_->attach(*ifindex, port->id());
    }
    return {};
}

Outcome Gateway::start_proxies() {
    if (std::ranges::none_of(ports_, [](const auto& port) { return port->config().proxy; })) return {};
    if (auto prepared = prepare_proxying(); !prepared) return fault(prepared.error().what);
    for (const auto& port : ports_) {
        if (port->config().proxy) proxying_->add(port->port());
    }
    return {};
}

/// Of no port yet. There may be some already.
Result<void> Gateway::prepare_proxying() {
    if (proxying_) return {};
    auto netlink = host::Netlink::open(config_.netns);
    if (!netlink) return std::unexpected(netlink.error());
    host_routes_.emplace(std::move(*netlink));
    proxying_.emplace(loop_, [this](bool add, forward::InterfaceId port, const wire::Gid& host) {
        const int ifindex = ifindexes_[static_cast<std::size_t>(port)];
        const auto done =
            add ? host_routes_->add_host_route(ifindex, host) : host_routes_->remove_host_route(ifindex, host);
        follower_->catch_up();
        return done.has_value();
    });
    return {};
}

Outcome Gateway::start_dhcp_relays() {
    auto relays = DhcpRelays::open(loop_, config_, setup_.on_trouble);
    if (!relays) return fault(relays.error().what);
    dhcp_relays_.emplace(std::move(*relays));
    tell_relays();
    return {};
}

Outcome Gateway::add_routes() {
    auto netlink = host::Netlink::open(config_.netns);
    if (!netlink) return fault(netlink.error().what);
    for (const auto& route : config_.routes)
        if (auto added = set_route(*netlink, config_, route); !added) return fault(added.error().what);
    return {};
}

Outcome Gateway::serve_tables() {
    auto server = telemetry::Server::open(tables([this] { return view(); }),
                                          [this](std::function<void()> task) { loop_.post(std::move(task)); });
    if (!server) return fault(server.error().what);
    telemetry_.emplace(std::move(*server));
    return {};
}

Outcome Gateway::serve_commands() {
    const auto socket = std::filesystem::path(rte_eal_get_runtime_dir()) / telemetry::command_socket;
    auto server = telemetry::CommandServer::open(
        loop_, socket, [this](const telemetry::Json& request) { return run_command(request); });
    if (!server) return fault(server.error().what);
    commands_ = std::move(*server);
    return {};
}

Outcome Gateway::start_shards() {
    return outcome(shards_->start());
}

/// Destroys the parts that were created, from the outside in.
Gateway::~Gateway() {
    commands_.reset();
    telemetry_.reset();
    dhcp_relays_.reset();
    proxying_.reset();
    follower_.reset();
    upkeep_timer_.cancel();
    for (auto& port : ports_) port->retire();
    if (shards_) shards_->stop();
    if (shard_links_) shard_links_->ignore_events();  // the ports that would handle them are destroyed first
    multicast_.reset();
    for (auto& port : ports_) port->leave();
    // Leaving sends requests to the subnet administrator: wait a moment for its answers. Without an SA no wait is
    // needed.
    const auto waiting = [this] { return std::ranges::any_of(ports_, [](const auto& port) { return !port->left(); }); };
    for (const Time limit = monotonic_now() + leave_limit; waiting() && monotonic_now() < limit;) {
        loop_.run_once(leave_limit / 10);
    }
}

}  // namespace verbline::gateway
