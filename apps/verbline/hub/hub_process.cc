// SPDX-License-Identifier: BSD-3-Clause
#include "apps/verbline/hub/hub_process.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <utility>

#include <rte_mbuf.h>
#include <sys/resource.h>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "apps/verbline/hub/hub_shards.h"
#include "apps/verbline/hub/hub_tables.h"
#include "apps/verbline/hub/hub_uplinks.h"
#include "apps/verbline/hub/node_settings.h"
#include "apps/verbline/instance/instance_process.h"
#include "apps/verbline/instance/pci_device.h"
#include "apps/verbline/node/priority.h"
#include "control/hub/directory.h"
#include "control/hub/server.h"
#include "control/service/journal.h"
#include "datapath/link/gid_table.h"
#include "pmd/base/clock.h"
#include "pmd/base/free_descriptors.h"
#include "pmd/base/tunables.h"
#include "pmd/ethdev/ethdev.h"
#include "pmd/impair/impair.h"
#include "pmd/memif/memif.h"
#include "pmd/packet_pool.h"
#include "pmd/rss/handover_ring.h"

namespace verbline::cli {
namespace {

constexpr unsigned pool_cache = 128;
static_assert(tunables::hub_packets_waiting < tunables::hub_packets);
constexpr std::size_t memory_mb = 96;
constexpr Time upkeep_period = 200 * millisecond, capture_period = 50 * millisecond;
/// A client connects in two steps, each seen at a look; for so long after it may be expected to.
constexpr Time connect_period = 2 * millisecond, connect_limit = 10 * second;

/// Each lane takes about six descriptors.
void raise_descriptor_limit() {
    rlimit limit{};
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
    limit.rlim_cur = limit.rlim_max;
    (void)setrlimit(RLIMIT_NOFILE, &limit);
}

/// All parts of the hub, in the order of their creation.
class HubProcess final : public hub::LaneHost {
public:
    HubProcess(const HubOptions& options, InstanceProcess& process)
        : options_(options), process_(process), loop_(process.loop()), uplinks_(options) {}
    HubProcess(const HubProcess&) = delete;
    HubProcess& operator=(const HubProcess&) = delete;
    ~HubProcess() override;

    Outcome start();

    Result<std::string> open_lane(hub::LaneId lane, const hub::Registry::Tenant& tenant) override;
    void close_lane(hub::LaneId lane) override;
    Result<void> set_group(hub::LaneId lane, const hub::GroupMembership& group) override;
    Result<wire::MacAddress> resolve(const hub::Resolve& wanted) override;
    hub::XrcHost* xrc() override { return node_ ? node_->xrc() : nullptr; }
    hub::SubnetHost* subnet() override { return node_ ? node_->subnet() : nullptr; }

private:
    Outcome start_dpdk();
    Outcome make_switch();
    Outcome open_node();
    Outcome open_uplinks();
    hub::RegistrySetup registry() const;
    Outcome serve();
    Outcome start_shards();
    std::string text() const;
    Outcome say_ready();
    std::expected<std::string, Failure> read_again();
    void say(service::Priority priority, const std::string& line);

    std::uint16_t shards() const { return static_cast<std::uint16_t>(process_.workers().size()); }
    std::unique_ptr<pmd::NetDevice> impaired(std::unique_ptr<pmd::NetDevice> device, hub::LaneId lane) const;
    std::optional<pmd::SourceGuard> guard_of(const hub::Registry::Tenant& tenant) const;
    void set_guards();
    void expect_connection();
    void write_capture();

    const HubOptions& options_;
    InstanceProcess& process_;
    control::Loop& loop_;
    rte_mempool* pool_ = nullptr;  ///< goes with the EAL
    std::unique_ptr<pmd::CaptureFile> capture_;
    std::shared_ptr<const pmd::memif::Notifier> notifier_ = std::make_shared<const pmd::memif::Notifier>();
    std::unique_ptr<pmd::Switch> switch_;
    std::unique_ptr<SharedPort> node_;  ///< after the switch, which has devices of its
    std::optional<HubShards> shards_;
    HubUplinks uplinks_;  ///< likewise
    std::map<hub::LaneId, pmd::Switch::PortId> lanes_;
    std::unique_ptr<hub::Server> server_;
    std::optional<telemetry::Server> telemetry_;
    control::Timer upkeep_timer_, connect_timer_, capture_timer_;
    Time connect_until_ = 0;
    std::optional<NodeSettings> settings_;
};

Outcome HubProcess::start() {
    for (const auto step : {&HubProcess::start_dpdk, &HubProcess::make_switch, &HubProcess::open_node,
                            &HubProcess::open_uplinks, &HubProcess::serve, &HubProcess::start_shards}) {
        if (auto result = (this->*step)(); !result) return result;
    }
    return say_ready();
}

Outcome HubProcess::start_dpdk() {
    std::vector<std::string> pci;
    auto ports = options_.uplinks;
    if (options_.node) ports.push_back(options_.node->port);
    for (const auto& port : ports) {
        if (auto device = pci_device(port)) pci.push_back(std::move(*device));
    }
    return process_.start_dpdk(
        {.name = options_.name, .memory_mb = memory_mb, .pci_devices = pci, .arguments = options_.eal_arguments});
}

Outcome HubProcess::make_switch() {
    const auto room = static_cast<std::uint16_t>(RTE_PKTMBUF_HEADROOM + uplinks_.slot_size());
    // Besides, as many as the rings between shards hold,
    auto packets = tunables::hub_packets + shards() * (shards() - 1u) * pmd::HandoverRing::capacity;
    // and the further queues of an adapter.
    if (uplinks_.has_dpdk_port()) packets += (shards() - 1u) * 2 * pmd::EthDeviceOptions().descriptors;
    pool_ =
        pmd::make_packet_pool("packets", packets, pool_cache, room, SOCKET_ID_ANY,
                              uplinks_.has_dpdk_port() ? pmd::BufferLayout::whole_pages : pmd::BufferLayout::packed);
    if (pool_ == nullptr) return run_failure("no memory for packets: give more with -m, or free hugepages");
    if (!options_.capture.empty()) {
        auto file = pmd::CaptureFile::create(options_.capture);
        if (!file) return run_failure(file.error().what);
        capture_ = std::move(*file);
    }
    switch_ = std::make_unique<pmd::Switch>(pmd::Switch::Options{.pool = pool_,
                                                                 .waiting = tunables::hub_packets_waiting,
                                                                 .capture = capture_.get(),
                                                                 .shards = shards(),
                                                                 .traces = process_.trace_shards({})});
    if (!switch_->can_sleep()) return run_failure(no_descriptors(EMFILE).error().what);
    uplinks_.use(*switch_, pool_);
    if (auto connected = switch_->connect(); !connected) return run_failure(connected.error().what);
    shards_.emplace(*switch_, process_.workers());
    return {};
}

Outcome HubProcess::open_uplinks() {
    if (auto added = uplinks_.add_all(); !added) return added;
    switch_->upkeep(loop_.now(), pmd::Switch::Links::all);
    return {};
}

Outcome HubProcess::open_node() {
    if (!options_.node) return {};
    auto node = SharedPort::create(*options_.node, loop_, pool_,
                                   [this](const pmd::DeviceSpec& spec) { return uplinks_.open(spec); });
    if (!node) return run_failure(node.error().what);
    node_ = std::move(*node);
    return uplinks_.add(node_->take_port());
}

hub::RegistrySetup HubProcess::registry() const {
    // Capture and impairment apply to all frames, and with any_source every lane may be a router: no direct links.
    const bool sees_all = !options_.direct || !options_.capture.empty() || options_.impair || options_.any_source;
    const hub::RegistrySetup usual;
    return {.name = options_.name,
            .subnets = options_.subnets,
            .owner = geteuid(),
            .max_lanes = node_ ? link::last_member : usual.max_lanes,
            .quotas = options_.quotas,
            .max_direct = sees_all ? 0 : usual.max_direct,
            .routers = options_.routers,
            .node = node_ ? std::optional(node_->identity()) : std::nullopt,
            .last_member = static_cast<std::uint16_t>(std::random_device()() % link::last_member)};
}

Outcome HubProcess::serve() {
    auto tables = telemetry::Server::open(
        hub_tables([this] {
            return HubView{server_->registry(),        *switch_,       lanes_,   uplinks_.ports(), server_->counters(),
                           server_->direct_counters(), server_->xrc(), *shards_, node_.get(),      loop_.now()};
        }),
        [this](std::function<void()> task) { loop_.post(std::move(task)); });
    if (!tables) return run_failure(tables.error().what);
    telemetry_.emplace(std::move(*tables));
    auto server = hub::Server::open(loop_, registry(), uplinks_.mtu(), *this);
    if (!server) return run_failure(server.error().what);
    server_ = std::move(*server);
    if (options_.access) {
        if (auto opened = hub::open_to(options_.name, *options_.access); !opened) {
            return run_failure(opened.error().what);
        }
    }
    if (node_) {
        if (auto served = node_->serve(*switch_, *server_); !served) return run_failure(served.error().what);
        node_->on_change([this] { set_guards(); },
                         [this](const std::string& why) {
                             say(service::Priority::error,
                                 fmt::format("node {} ends: {}; start it again", options_.name, why));
                             loop_.stop();
                         });
    }
    upkeep_timer_ = loop_.every(upkeep_period, [this] {
        switch_->upkeep(loop_.now(), pmd::Switch::Links::all);
        if (node_) node_->upkeep(loop_.now());
        shards_->look_after(loop_.now(), [this](const std::string& line) { say(service::Priority::warning, line); });
    });
    if (capture_) capture_timer_ = loop_.every(capture_period, [this] { write_capture(); });
    return {};
}

Outcome HubProcess::start_shards() {
    auto started = shards_->start();
    if (!started) return run_failure(started.error().what);
    return {};
}

/// What is ready: addresses and ports.
std::string HubProcess::text() const {
    std::vector<std::string> parts;
    if (node_) {
        for (const auto& address : node_->identity().addresses) parts.push_back(to_string(address));
    }
    for (const auto& subnet : options_.subnets) parts.push_back(to_string(subnet));
    if (options_.node && options_.node->fabric) {
        parts.push_back("port " + verbs::text(*options_.node->fabric));
    } else {
        for (const auto& name : uplinks_.names()) parts.push_back((node_ ? "port " : "uplink ") + name);
    }
    return fmt::format("{}, MTU {}", fmt::join(parts, ", "), uplinks_.mtu());
}

Outcome HubProcess::say_ready() {
    const auto what = text();
    fmt::print("verbline: {} {} ({}) ready\n", node_ ? "node" : "hub", options_.name, what);
    std::fflush(stdout);
    process_.ready(what, [this] { return shards_->all_poll(); });
    if (options_.file.empty()) return {};
    settings_.emplace(options_, *node_, *server_);
    process_.on_reload(
        [this] { process_.reload(options_.file, [this] { return read_again(); }, [this] { return text(); }); });
    return {};
}

/// Reads the file again, and uses it as a whole or not at all.
std::expected<std::string, Failure> HubProcess::read_again() {
    const auto wanted = options_.read_again();
    if (!wanted) return std::unexpected(wanted.error());
    auto changed = settings_->change_to(*wanted);
    if (!changed) return run_failure(fmt::format("{}: {}", options_.file, changed.error().what));
    return std::move(*changed);
}

void HubProcess::say(service::Priority priority, const std::string& line) {
    service::say(priority, "verbline: " + line);
    process_.manager().status(line);
}

/// Taken apart from the outside in: clients, poll threads, devices.
HubProcess::~HubProcess() {
    telemetry_.reset();
    server_.reset();
    shards_.reset();
}

Result<std::string> HubProcess::open_lane(hub::LaneId lane, const hub::Registry::Tenant& tenant) {
    const std::string socket = hub::lane_socket(options_.name, static_cast<unsigned>(lane));
    auto device = pmd::Memif::create({.path = socket,
                                      .server = true,
                                      .buffer_size = uplinks_.slot_size(),
                                      .mtu = uplinks_.mtu(),
                                      .notifier = notifier_},
                                     pool_);
    if (!device) return std::unexpected(device.error());
    if (auto up = (*device)->up(); !up) return std::unexpected(up.error());
    if (const auto user = tenant.peer.uid; user != geteuid() && chown(socket.c_str(), user, -1u) != 0) {
        return failure(errno, fmt::format("{} cannot be given to user {}: {}", socket, user, std::strerror(errno)));
    }
    Result<std::unique_ptr<pmd::NetDevice>> port = impaired(std::move(*device), lane);
    if (node_) port = node_->member(lane, std::move(*port));
    if (!port) return std::unexpected(port.error());
    lanes_[lane] = switch_->add_lane(std::move(*port), tenant.mac, guard_of(tenant));
    expect_connection();
    return socket;
}

/// No source check for routers, which forward packets of others.
std::optional<pmd::SourceGuard> HubProcess::guard_of(const hub::Registry::Tenant& tenant) const {
    const auto mac = node_ ? node_->identity().mac : tenant.mac;
    std::vector<wire::Gid> addresses{link::link_local_gid(mac)};
    for (const auto& address : tenant.addresses) addresses.push_back(address.gid);
    const auto is_router = [this](const wire::Gid& gid) { return std::ranges::count(options_.routers, gid) > 0; };
    if (options_.any_source || std::ranges::any_of(addresses, is_router)) return std::nullopt;
    return pmd::SourceGuard(mac, addresses);
}

/// The port's addresses have changed.
void HubProcess::set_guards() {
    for (const auto& [lane, port] : lanes_) switch_->set_guard(port, guard_of(server_->registry().tenant(lane)));
}

void HubProcess::close_lane(hub::LaneId lane) {
    if (node_) node_->forget(lane);
    switch_->remove(lanes_.extract(lane).mapped());
    if (node_) node_->leave(lane);
}

Result<void> HubProcess::set_group(hub::LaneId lane, const hub::GroupMembership& group) {
    if (node_) {
        if (auto set = node_->set_group(group); !set) return set;
    }
    switch_->set_group(lanes_.at(lane), group.mac, group.member);
    return {};
}

Result<wire::MacAddress> HubProcess::resolve(const hub::Resolve& wanted) {
    if (node_) return node_->resolve(wanted);
    return hub::LaneHost::resolve(wanted);
}

/// Different seeds, so that no two lanes drop the same frames.
std::unique_ptr<pmd::NetDevice> HubProcess::impaired(std::unique_ptr<pmd::NetDevice> device, hub::LaneId lane) const {
    if (!options_.impair) return device;
    auto spec = *options_.impair;
    spec.seed += static_cast<std::uint64_t>(lane);
    return std::make_unique<pmd::ImpairedDevice>(std::move(device), spec, monotonic_now);
}

void HubProcess::expect_connection() {
    connect_until_ = loop_.now() + connect_limit;
    if (connect_timer_) return;
    connect_timer_ = loop_.every(connect_period, [this] {
        switch_->upkeep(loop_.now(), pmd::Switch::Links::down);
        const auto is_up = [this](const auto& lane) { return switch_->link_up(lane.second); };
        if (loop_.now() > connect_until_ || std::ranges::all_of(lanes_, is_up)) connect_timer_.cancel();
    });
}

void HubProcess::write_capture() {
    if (const auto written = capture_->drain(); !written) {
        say(service::Priority::warning, "capture ends: " + written.error().what);
        capture_timer_.cancel();
    }
}

}  // namespace

Outcome run_hub(const HubOptions& options) {
    raise_descriptor_limit();
    if (options.node) raise_priority();
    const auto process = InstanceProcess::create();
    if (!process) return std::unexpected(process.error());
    HubProcess hub(options, **process);
    if (auto started = hub.start(); !started) return started;
    (*process)->run();
    return {};
}

}  // namespace verbline::cli
