// SPDX-License-Identifier: BSD-3-Clause
#include "apps/verbline/gateway/router.h"

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <memory>
#include <optional>
#include <utility>

#include <rte_lcore.h>
#include <rte_mbuf.h>
#include <rte_rcu_qsbr.h>
#include <unistd.h>

#include <fmt/format.h>

#include "apps/verbline/gateway/router_port.h"
#include "apps/verbline/gateway/router_tables.h"
#include "apps/verbline/instance/eal.h"
#include "apps/verbline/instance/pci_device.h"
#include "apps/verbline/instance/stop_signals.h"
#include "control/host/kernel_interface.h"
#include "control/router/kernel_follower.h"
#include "control/telemetry/server.h"
#include "datapath/router/runner.h"
#include "datapath/wire/text.h"
#include "pmd/base/clock.h"
#include "pmd/base/tunables.h"
#include "pmd/factory/device_spec.h"

namespace verbline::cli {
namespace {

constexpr unsigned pool_cache = 256;
constexpr std::uint16_t pool_data_room = RTE_PKTMBUF_HEADROOM + 2304;  ///< any frame of a 2048-byte link
constexpr Time leave_limit = 500 * millisecond;
constexpr Time look_period = 50 * millisecond;

/// Those of the ports' devices that the PCI bus must be searched for.
std::vector<std::string> pci_devices(const GatewayConfig& config) {
    std::vector<std::string> found;
    for (const auto& port : config.ports) {
        for (const auto& text : port.devices) {
            const auto spec = pmd::parse_device_spec(text);
            if (auto device = spec ? pci_device(*spec) : std::nullopt) found.push_back(std::move(*device));
        }
    }
    return found;
}

Outcome outcome(Result<void> result) {
    if (!result) return run_failure(result.error().what);
    return {};
}

struct FreeReaders {
    void operator()(rte_rcu_qsbr* readers) const { std::free(readers); }
};

/// All parts of the router, in the order of their creation.
class Router {
public:
    explicit Router(const RouterOptions& options) : options_(options), config_(options.config) {}
    Router(const Router&) = delete;
    Router& operator=(const Router&) = delete;
    ~Router();

    Outcome start();
    void run() { loop_->run(); }

private:
    Outcome open_loop();
    Outcome open_subnets();
    Outcome start_eal();
    Outcome make_pool_and_fib();
    Outcome open_devices();
    Outcome make_shard();
    Outcome start_ports();
    Outcome configure_kernel();
    Outcome add_routes();
    Outcome serve_tables();
    Outcome start_worker();
    void stop_worker();

    void handle(const router::Event& event);
    void look_after();
    void say_when_ready();
    RouterView view();

    const RouterOptions& options_;
    const GatewayConfig& config_;
    std::unique_ptr<control::Loop> loop_;
    std::optional<StopSignals> signals_;
    std::optional<Eal> eal_;
    rte_mempool* pool_ = nullptr;  ///< goes with the EAL
    std::unique_ptr<rte_rcu_qsbr, FreeReaders> readers_;
    std::unique_ptr<forward::Fib> fib_;
    std::unique_ptr<router::ShardLink> shard_link_;
    std::unique_ptr<pmd::CaptureFile> capture_;  ///< of all ports; outlives their devices
    std::vector<std::unique_ptr<RouterPort>> ports_;
    std::unique_ptr<router::Shard> shard_;
    std::unique_ptr<router::KernelFollower> follower_;
    std::optional<telemetry::Server> telemetry_;
    control::Timer look_timer_;
    std::atomic<bool> stop_{false};
    unsigned worker_ = RTE_MAX_LCORE;
    bool ready_ = false;
    bool capture_failed_ = false;
};

Outcome Router::start() {
    for (const auto step : {&Router::open_loop, &Router::open_subnets, &Router::start_eal, &Router::make_pool_and_fib,
                            &Router::open_devices, &Router::make_shard, &Router::start_ports, &Router::configure_kernel,
                            &Router::serve_tables, &Router::start_worker, &Router::add_routes}) {
        if (auto result = (this->*step)(); !result) return result;
    }
    return {};
}

Outcome Router::open_loop() {
    auto loop = control::Loop::create();
    if (!loop) return run_failure(loop.error().what);
    loop_ = std::move(*loop);
    auto signals = StopSignals::watch(*loop_);
    if (!signals) return run_failure(signals.error().what);
    signals_.emplace(std::move(*signals));
    return {};
}

Outcome Router::open_subnets() {
    for (const auto& port : config_.ports) {
        const auto id = static_cast<forward::InterfaceId>(ports_.size());
        ports_.push_back(std::make_unique<RouterPort>(config_, port, id));
        if (auto opened = ports_.back()->open_subnet(*loop_); !opened) return opened;
    }
    return {};
}

Outcome Router::start_eal() {
    auto eal =
        Eal::start({.name = config_.name, .pci_devices = pci_devices(config_), .arguments = options_.eal_arguments});
    if (!eal) return run_failure(eal.error().what);
    eal_.emplace(std::move(*eal));
    const auto worker = eal_->packet_lcore();
    if (!worker) return run_failure(worker.error().what);
    worker_ = *worker;
    return {};
}

Outcome Router::make_pool_and_fib() {
    pool_ = rte_pktmbuf_pool_create("packets", tunables::router_packets, pool_cache, 0, pool_data_room, SOCKET_ID_ANY);
    if (pool_ == nullptr) return run_failure("no memory for packets: give more with -m, or free hugepages");
    const auto size = rte_rcu_qsbr_get_memsize(RTE_MAX_LCORE);
    readers_.reset(static_cast<rte_rcu_qsbr*>(std::aligned_alloc(RTE_CACHE_LINE_SIZE, size)));
    if (readers_ == nullptr) return run_failure("no memory for the readers of the forwarding table");
    rte_rcu_qsbr_init(readers_.get(), RTE_MAX_LCORE);
    auto fib = forward::Fib::create({}, *readers_);
    if (!fib) return run_failure(fib.error().what);
    fib_ = std::move(*fib);
    return {};
}

Outcome Router::open_devices() {
    if (!options_.capture.empty()) {
        auto file = pmd::CaptureFile::create(options_.capture);
        if (!file) return run_failure(file.error().what);
        capture_ = std::move(*file);
    }
    for (auto& port : ports_) {
        if (auto opened = port->open_devices(*pool_, capture_.get()); !opened) return opened;
    }
    return {};
}

Outcome Router::make_shard() {
    auto link = router::ShardLink::create(*loop_, "shard0", [this](const router::Event& event) { handle(event); });
    if (!link) return run_failure(link.error().what);
    shard_link_ = std::move(*link);
    router::ShardSetup setup{.fib = fib_.get(),
                             .readers = readers_.get(),
                             .pool = pool_,
                             .commands = &shard_link_->commands(),
                             .events = &shard_link_->events(),
                             .wake_control = shard_link_->wake(),
                             .deliver_all_to_kernel = options_.deliver_all_to_kernel};
    for (const auto& port : ports_) setup.ports.push_back(port->shard_setup());
    shard_ = std::make_unique<router::Shard>(setup);
    return {};
}

Outcome Router::start_ports() {
    for (auto& port : ports_) {
        port->start(*loop_, *shard_link_, *pool_);
        port->port().on_change([this] { say_when_ready(); });
        if (auto* ipoib = port->ipoib()) {
            ipoib->on_trouble([name = port->name(), said = false](const std::string& trouble) mutable {
                if (trouble.empty() && !said) return;
                said = !trouble.empty();
                fmt::print(stderr, "verbline: {}: {}\n", name, said ? trouble : "all is well again");
            });
        }
        if (auto up = outcome(port->device().up()); !up) return up;
    }
    look_timer_ = loop_->every(look_period, [this] { look_after(); });
    return {};
}

Outcome Router::configure_kernel() {
    auto netlink = host::Netlink::open(config_.netns);
    if (!netlink) return run_failure(netlink.error().what);
    auto follower = router::KernelFollower::open(
        *loop_, config_.netns, *fib_, [this](forward::InterfaceId id, const host::InterfaceState& state) {
            ports_[static_cast<std::size_t>(id)]->port().set_addresses(state.addresses);
        });
    if (!follower) return run_failure(follower.error().what);
    follower_ = std::move(*follower);
    for (const auto& port : ports_) {
        const auto& config = port->config();
        const auto ifindex = host::configure(*netlink, {config.name, config.mtu, config.addresses});
        if (!ifindex) return run_failure(fmt::format("port {}: {}", config.name, ifindex.error().what));
        follower_->attach(*ifindex, port->id());
    }
    return {};
}

Outcome Router::add_routes() {
    auto netlink = host::Netlink::open(config_.netns);
    if (!netlink) return run_failure(netlink.error().what);
    for (const auto& route : config_.routes) {
        const auto added = host::add_static_route(*netlink, {.to = route.to, .via = route.via});
        if (!added) return run_failure(config_error(config_.file, route.line, added.error().what).what);
    }
    return {};
}

Outcome Router::serve_tables() {
    auto server = telemetry::Server::open(router_tables([this] { return view(); }),
                                          [this](std::function<void()> task) { loop_->post(std::move(task)); });
    if (!server) return run_failure(server.error().what);
    telemetry_.emplace(std::move(*server));
    return {};
}

Outcome Router::start_worker() {
    const auto entry = [](void* self) {
        auto& router = *static_cast<Router*>(self);
        router::run(*router.shard_, router.stop_, {.always_spin = router::on_isolated_cpu()});
        return 0;
    };
    if (rte_eal_remote_launch(entry, this, worker_) != 0) return run_failure("the worker lcore is busy");
    return {};
}

/// Destroys the parts that were created, from the outside in.
Router::~Router() {
    telemetry_.reset();
    follower_.reset();
    look_timer_.cancel();
    stop_worker();
    for (auto& port : ports_) port->leave();
    // Leaving sends requests to the subnet administrator: wait a moment for its answers. Without an SA no wait is
    // needed.
    const auto waiting = [this] { return std::ranges::any_of(ports_, [](const auto& port) { return !port->left(); }); };
    for (const Time limit = monotonic_now() + leave_limit; loop_ && waiting() && monotonic_now() < limit;) {
        loop_->run_once(leave_limit / 10);
    }
}

void Router::stop_worker() {
    stop_ = true;
    if (worker_ != RTE_MAX_LCORE) rte_eal_wait_lcore(worker_);
}

void Router::handle(const router::Event& event) {
    std::visit([this](const auto& e) { ports_[static_cast<std::size_t>(e.port)]->port().handle(e); }, event);
}

void Router::look_after() {
    for (auto& port : ports_) port->look_after();
    if (!capture_ || capture_failed_) return;
    if (const auto written = capture_->drain(); !written) {
        fmt::print(stderr, "verbline: capture ends: {}\n", written.error().what);
        capture_failed_ = true;
    }
}

void Router::say_when_ready() {
    if (ready_) return;
    std::string ports;
    for (const auto& port : ports_) {
        // A gateway is ready before its hosts are; a host is ready only with its link up.
        if (!port->up() || (options_.deliver_all_to_kernel && !port->port().carrier())) return;
        ports += fmt::format("{}{}", ports.empty() ? "" : ", ", port->name());
        for (const auto& address : port->config().addresses) ports += ' ' + to_string(address);
    }
    ready_ = true;
    fmt::print("verbline: {} ({}) ready\n", config_.name, ports);
    std::fflush(stdout);
}

RouterView Router::view() {
    return {.config = config_,
            .ports = ports_,
            .fib = *fib_,
            .shard = *shard_,
            .follower = *follower_,
            .now = loop_->now()};
}

}  // namespace

Outcome run_router(const RouterOptions& options) {
    Router router(options);
    if (auto started = router.start(); !started) return started;
    router.run();
    return {};
}

}  // namespace verbline::cli
