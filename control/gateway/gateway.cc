// SPDX-License-Identifier: BSD-3-Clause
#include "control/gateway/gateway.h"

#include <algorithm>
#include <cstdlib>
#include <random>
#include <set>
#include <utility>

#include <rte_mbuf.h>
#include <rte_rcu_qsbr.h>

#include <fmt/format.h>

#include "control/gateway/placement.h"
#include "control/host/kernel_interface.h"
#include "datapath/wire/text.h"
#include "pmd/base/clock.h"
#include "pmd/base/tunables.h"

namespace verbline::gateway {
namespace {

constexpr unsigned pool_cache = 256;
constexpr std::uint16_t pool_data_room = RTE_PKTMBUF_HEADROOM + 2304;  ///< any frame of a 2048-byte link
constexpr Time leave_limit = 500 * millisecond;
constexpr Time upkeep_period = 50 * millisecond;

/// Of the hash that spreads flows: whoever knew it could aim all of them at one shard.
link::FrameFlowHash::Key random_key() {
    link::FrameFlowHash::Key key;
    std::random_device random;
    for (auto& byte : key) byte = static_cast<std::uint8_t>(random());
    return key;
}

}  // namespace

void Gateway::FreeReaders::operator()(rte_rcu_qsbr* readers) const {
    std::free(readers);
}

Outcome Gateway::open_subnets() {
    for (const auto& port : config_.ports) {
        const auto id = static_cast<forward::InterfaceId>(ports_.size());
        ports_.push_back(std::make_unique<GatewayPort>(config_, port, id));
        if (auto opened = ports_.back()->open_subnet(loop_); !opened) return opened;
    }
    return {};
}

Outcome Gateway::start(Shards::Workers& workers) {
    if (auto made = make_links(static_cast<std::uint16_t>(workers.size())); !made) return made;
    for (const auto step : {&Gateway::make_pool_and_fib, &Gateway::open_devices}) {
        if (auto result = (this->*step)(); !result) return result;
    }
    make_shards(workers);
    warn_of_placement();
    for (const auto step :
         {&Gateway::start_ports, &Gateway::configure_kernel, &Gateway::serve_tables, &Gateway::start_shards}) {
        if (auto result = (this->*step)(); !result) return result;
    }
    return add_routes();
}

Outcome Gateway::make_links(std::uint16_t shards) {
    auto links =
        router::ShardLinks::create(loop_, "shard", shards, [this](const router::Event& event) { handle(event); });
    if (!links) return fault(links.error().what);
    shard_links_ = std::move(*links);
    flows_ = std::make_unique<link::FrameFlowHash>(random_key());
    return {};
}

Outcome Gateway::make_pool_and_fib() {
    const auto packets = static_cast<unsigned>(tunables::router_packets * shard_links_->size());
    pool_ = rte_pktmbuf_pool_create("packets", packets, pool_cache, 0, pool_data_room, SOCKET_ID_ANY);
    if (pool_ == nullptr) return fault("no memory for packets: give more with -m, or free hugepages");
    const auto size = rte_rcu_qsbr_get_memsize(RTE_MAX_LCORE);
    readers_.reset(static_cast<rte_rcu_qsbr*>(std::aligned_alloc(RTE_CACHE_LINE_SIZE, size)));
    if (readers_ == nullptr) return fault("no memory for the readers of the forwarding table");
    rte_rcu_qsbr_init(readers_.get(), RTE_MAX_LCORE);
    auto fib = forward::Fib::create({}, *readers_);
    if (!fib) return fault(fib.error().what);
    fib_ = std::move(*fib);
    auto ipv6_fib = forward::Ipv6Fib::create({}, *readers_);
    if (!ipv6_fib) return fault(ipv6_fib.error().what);
    ipv6_fib_ = std::move(*ipv6_fib);
    return {};
}

Outcome Gateway::open_devices() {
    if (!setup_.capture.empty()) {
        auto file = pmd::CaptureFile::create(setup_.capture);
        if (!file) return fault(file.error().what);
        capture_ = std::move(*file);
    }
    LinkDevices links(config_);
    const GatewayPort::DeviceSetup setup{.pool = *pool_,
                                         .capture = capture_.get(),
                                         .queues = static_cast<std::uint16_t>(shard_links_->size()),
                                         .flows = *flows_,
                                         .links = links};
    for (auto& port : ports_) {
        if (auto opened = port->open_devices(setup); !opened) return opened;
    }
    return {};
}

void Gateway::make_shards(Shards::Workers& workers) {
    router::ShardSetup common{.fib = fib_.get(),
                              .ipv6_fib = ipv6_fib_.get(),
                              .readers = readers_.get(),
                              .pool = pool_,
                              .flows = flows_.get(),
                              .deliver_all_to_kernel = setup_.deliver_all_to_kernel};
    for (const auto& port : ports_) common.ports.push_back(port->shard_setup());
    shards_ = std::make_unique<Shards>(common, *shard_links_, workers);
}

/// Says each thing once, though several shards may be on one socket.
void Gateway::warn_of_placement() {
    std::vector<int> sockets;
    for (std::size_t i = 0; i < shards_->size(); ++i) sockets.push_back(shards_->socket(i));
    std::vector<PlacedPort> places;
    for (const auto& port : ports_) places.push_back({port->name(), port->device().numa_socket()});
    warnings_ = placement_warnings(sockets, places);
    for (const auto& warning : std::set<std::string>(warnings_.begin(), warnings_.end())) {
        if (!warning.empty()) setup_.on_trouble(warning);
    }
}

Outcome Gateway::start_ports() {
    for (auto& port : ports_) {
        port->start(loop_, *shard_links_, *pool_, ipv6_gateways_, !setup_.deliver_all_to_kernel);
        port->port().on_change([this] { report_when_ready(); });
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
    upkeep_timer_ = loop_.every(upkeep_period, [this] { upkeep(); });
    return {};
}

Outcome Gateway::configure_kernel() {
    auto netlink = host::Netlink::open(config_.netns);
    if (!netlink) return fault(netlink.error().what);
    auto follower =
        router::KernelFollower::open(loop_, config_.netns, {*fib_, *ipv6_fib_, ipv6_gateways_},
                                     [this](forward::InterfaceId id, const host::InterfaceState& state) {
                                         ports_[static_cast<std::size_t>(id)]->port().set_addresses(state.addresses);
                                     });
    if (!follower) return fault(follower.error().what);
    follower_ = std::move(*follower);
    for (const auto& port : ports_) {
        const auto& config = port->config();
        const auto ifindex = host::configure(*netlink, {config.name, config.mtu, config.addresses});
        if (!ifindex) return fault(fmt::format("port {}: {}", config.name, ifindex.error().what));
        follower_->attach(*ifindex, port->id());
    }
    return {};
}

Outcome Gateway::add_routes() {
    auto netlink = host::Netlink::open(config_.netns);
    if (!netlink) return fault(netlink.error().what);
    for (const auto& route : config_.routes) {
        const auto added = host::add_static_route(*netlink, {.to = route.to, .via = route.via});
        if (!added) return fault(config_error(config_.file, route.line, added.error().what).what);
    }
    return {};
}

Outcome Gateway::serve_tables() {
    auto server = telemetry::Server::open(tables([this] { return view(); }),
                                          [this](std::function<void()> task) { loop_.post(std::move(task)); });
    if (!server) return fault(server.error().what);
    telemetry_.emplace(std::move(*server));
    return {};
}

Outcome Gateway::start_shards() {
    return outcome(shards_->start());
}

/// Destroys the parts that were created, from the outside in.
Gateway::~Gateway() {
    telemetry_.reset();
    follower_.reset();
    upkeep_timer_.cancel();
    if (shards_) shards_->stop();
    if (shard_links_) shard_links_->ignore_events();  // the ports that would hear it leave
    for (auto& port : ports_) port->leave();
    // Leaving sends requests to the subnet administrator: wait a moment for its answers. Without an SA no wait is
    // needed.
    const auto waiting = [this] { return std::ranges::any_of(ports_, [](const auto& port) { return !port->left(); }); };
    for (const Time limit = monotonic_now() + leave_limit; waiting() && monotonic_now() < limit;) {
        loop_.run_once(leave_limit / 10);
    }
}

void Gateway::handle(const router::Event& event) {
    std::visit([this](const auto& e) { ports_[static_cast<std::size_t>(e.port)]->port().handle(e); }, event);
}

void Gateway::upkeep() {
    for (auto& port : ports_) port->upkeep();
    shards_->look_after(loop_.now(), setup_.on_trouble);
    if (!capture_ || capture_failed_) return;
    if (const auto written = capture_->drain(); !written) {
        setup_.on_trouble("capture ends: " + written.error().what);
        capture_failed_ = true;
    }
}

void Gateway::report_when_ready() {
    if (ready_) return;
    std::string ports;
    for (const auto& port : ports_) {
        // A gateway is ready before its hosts are; a host is ready only with its link up.
        if (!port->up() || (setup_.deliver_all_to_kernel && !port->port().carrier())) return;
        ports += fmt::format("{}{}", ports.empty() ? "" : ", ", port->name());
        for (const auto& address : port->config().addresses) ports += ' ' + to_string(address);
    }
    ready_ = true;
    setup_.on_ready(ports);
}

View Gateway::view() {
    return {.config = config_,
            .ports = ports_,
            .fib = *fib_,
            .ipv6_fib = *ipv6_fib_,
            .ipv6_gateways = ipv6_gateways_,
            .shards = *shards_,
            .warnings = warnings_,
            .links = *shard_links_,
            .follower = *follower_,
            .now = loop_.now()};
}

}  // namespace verbline::gateway
