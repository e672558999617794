// SPDX-License-Identifier: BSD-3-Clause
#include "apps/libibverbs/ucma/engine.h"

#include <algorithm>
#include <cerrno>
#include <iterator>
#include <utility>

#include <errno.h>
#include <poll.h>
#include <unistd.h>

#include <fmt/format.h>

#include "apps/libibverbs/port/process.h"
#include "apps/libibverbs/port/shared_tsc_clock.h"
#include "apps/libibverbs/ucma/fabric_network.h"
#include "apps/libibverbs/ucma/tables.h"
#include "control/telemetry/program_directory.h"
#include "pmd/base/clock.h"
#include "pmd/base/free_descriptors.h"
#include "pmd/base/random.h"

namespace verbline::verbs {
namespace {

constexpr Time disconnect_timeout = second;  ///< for peers to answer the DREQs of `finish`
constexpr int longest_interval = 16;         ///< ms, between two checks
/// Between two DREQs: most peers answer sooner, and `disconnect_timeout` leaves time for many repeats.
constexpr Time repeat_interval = 50 * millisecond;
constexpr int receive_rounds = 4;  ///< rounds of receiving before the rest is left to the control thread

}  // namespace

Result<std::unique_ptr<CmEngine>> CmEngine::start(Process& process, std::function<void()> asked) {
    const auto* const devices = process.devices();
    if (devices == nullptr) return failure(errno, "the settings cannot be understood");
    auto loop = control::Loop::create();
    if (!loop) return std::unexpected(loop.error());
    std::unique_ptr<CmEngine> engine(new CmEngine);
    engine->loop_ = std::move(*loop);
    for (const auto& device : *devices) {
        const auto port = process.open(device.abi);
        if (port && !engine->clock_) engine->clock_ = make_shared_clock();  // requires EAL, started by the first port
        const auto added = port ? engine->add_port(**port) : Result<void>(std::unexpected(port.error()));
        if (!added) complain(added.error());
    }
    if (engine->ports_.empty()) return failure(ENODEV, "rdma_cm: there is no device that it could use");

    std::vector<rdmacm::NetworkPort*> networks;
    std::ranges::transform(engine->ports_, std::back_inserter(networks), [](const auto& port) { return port.get(); });
    engine->service_ = rdmacm::Service::create(std::move(networks), random_number());
    if (auto watching = engine->watch_ports(); !watching) return std::unexpected(watching.error());
    if (auto watching = engine->watch_asked(std::move(asked)); !watching) return std::unexpected(watching.error());
    engine->show();
    auto thread = QuietThread::start([loop = engine->loop_.get()] { loop->run(); });
    if (!thread) return std::unexpected(thread.error());
    engine->thread_ = std::move(*thread);
    return engine;
}

/// For `verbline show`. Without a socket nothing is shown; everything else works.
void CmEngine::show() {
    shown_at_ = telemetry::program_directory() / fmt::format("{}-{}", program_invocation_short_name, getpid());
    auto tables = std::vector<telemetry::Table>{
        {.name = "cm",
         .help = "endpoints of the connection manager",
         .query = [this] { return with([this](auto& service, Time now) { return cm_table(service, ports_, now); }); }},
        {.name = "counters", .help = "counters of the connection manager, by who owns them", .query = [this] {
             return with([this](auto& service, Time) { return counter_table(service, ports_); });
         }}};
    if (auto opened = telemetry::ProgramServer::open(*loop_, shown_at_, std::move(tables))) shown_ = std::move(*opened);
}

CmEngine::~CmEngine() {
    for (const auto& port : ports_) port->port().progress().serve({});
    if (loop_ != nullptr) loop_->stop();
}

Result<void> CmEngine::add_port(VerbsPort& port) {
    PortNetwork::Callbacks callbacks{
        .on_ready = [this](cm::Endpoint& endpoint) { ready_.push_back(&endpoint); },
        .later = [this](PortNetwork::Task task) { loop_->post(std::move(task)); },
        // While ports are opened there is no service yet, and only the opening thread.
        .with_service =
            [this](const PortNetwork::Task& task) {
                if (service_ == nullptr) return task();
                with([&](auto&, Time) { task(); });
            },
        .bound = [this](const rdmacm::NetworkPort& port,
                        wire::CmServiceId service) { return service_ != nullptr && service_->bound(port, service); },
        .changed =
            [this](const rdmacm::NetworkPort& changed, bool removed) {
                if (service_ != nullptr) service_->port_changed(changed, removed, clock_());
            },
        .holds_service = [this] { return holder_.load(std::memory_order_relaxed) == std::this_thread::get_id(); },
        .now = clock_,
        .loop = loop_.get()};
    Result<std::unique_ptr<PortNetwork>> network;
    if (port.infiniband())
        network = FabricNetwork::create(port, std::move(callbacks));
    else
        network = PortNetwork::create(port, std::move(callbacks));
    if (!network) return std::unexpected(network.error());
    ports_.push_back(std::move(*network));
    return {};
}

Result<void> CmEngine::watch_ports() {
    for (const auto& port : ports_) {
        auto watch = loop_->watch(port->arrivals(), [this, &port](std::uint32_t) {
            port->clear_arrivals();
            with([](auto&, Time) {});
        });
        if (!watch) return std::unexpected(watch.error());
        watches_.push_back(std::move(*watch));
        port->port().progress().serve([this] { with([](auto&, Time) {}); });
    }
    return {};
}

Result<void> CmEngine::watch_asked(std::function<void()> asked) {
    asked_ = EventDescriptor::make();
    if (!asked_) return no_descriptors(errno, "rdma_cm");
    auto watch = loop_->watch(asked_.get(), [this, act = std::move(asked)](std::uint32_t) {
        asked_.drain();
        if (act) act();
    });
    if (!watch) return std::unexpected(watch.error());
    watches_.push_back(std::move(*watch));
    return {};
}

void CmEngine::ask() noexcept {
    asked_.signal();
}

void CmEngine::leave() {
    for (const auto& port : ports_) port->port().progress().leave();
}

/// A DREQ may be lost, and is not retransmitted once the process has ended; the kernel's rdma_cm would, every 4 s. So
/// it is repeated at a shorter interval until then.
void CmEngine::finish() {
    const auto began = monotonic_now();
    auto repeat = began + repeat_interval;
    for (int interval = 1; unanswered() && monotonic_now() < began + disconnect_timeout;
         interval = std::min(2 * interval, longest_interval)) {
        leave();
        ::poll(nullptr, 0, interval);
        if (monotonic_now() < repeat) continue;
        repeat = monotonic_now() + repeat_interval;
        repeat_disconnects();
    }
    if (shown_ != nullptr) unlink(shown_at_.c_str());  // the server itself belongs to the control thread, still running
}

/// Whether a DREP is still missing. Receives pending MADs first.
bool CmEngine::unanswered() {
    return with([this](rdmacm::Service&, Time) {
        return std::ranges::any_of(ports_, [](const auto& port) {
            port->receive();
            const auto asks = [](const auto& endpoint) { return endpoint.state == cm::ConnectionState::dreq_sent; };
            return std::ranges::any_of(port->manager().show(), asks);
        });
    });
}

void CmEngine::repeat_disconnects() {
    with([this](rdmacm::Service&, Time now) {
        for (const auto& port : ports_) port->manager().repeat_disconnects(now);
    });
}

void CmEngine::changed(const std::shared_ptr<EventChannel>& channel) {
    if (std::ranges::find(changed_, channel) == changed_.end()) changed_.push_back(channel);
}

/// Polling one endpoint may make others ready.
void CmEngine::poll_ready() {
    while (!ready_.empty()) {
        const auto now = clock_();
        for (auto* const endpoint : std::exchange(ready_, {})) service_->ready(*endpoint, now);
    }
}

/// Receives pending MADs of the ports that have reported some, and hands polling back to the helpers: this does not
/// mean that the program polls. Returns false if there were none.
bool CmEngine::receive() {
    bool received = false;
    for (const auto& port : ports_) {
        if (!port->arrived()) continue;
        port->receive();
        port->port().progress().leave();
        received = true;
    }
    return received;
}

/// Returns the channels whose queues have changed. Sending polls the port, which may bring in MADs, whose answers are
/// sent in turn.
std::vector<std::shared_ptr<EventChannel>> CmEngine::settle() {
    poll_ready();
    for (int round = 0; round < receive_rounds && receive(); ++round) poll_ready();
    for (const auto& port : ports_)
        if (port->arrived()) port->notify_others();
    if (const auto due = deadline(); due && (!armed_ || *armed_ > *due)) {
        armed_ = due;
        loop_->post([this] { arm(); });
    }
    for (const auto& channel : changed_) channel->changed();
    return std::exchange(changed_, {});
}

void CmEngine::arm() {
    const std::scoped_lock lock(mutex_);
    if (armed_) timer_ = loop_->at(*armed_, [this] { tick(); });
}

void CmEngine::tick() {
    with([this](rdmacm::Service& service, Time now) {
        armed_.reset();
        for (const auto& port : ports_) port->tick(now);
        service.tick(now);
    });
    leave();
}

std::optional<Time> CmEngine::deadline() const {
    auto soonest = service_->deadline();
    for (const auto& port : ports_)
        if (const auto due = port->deadline()) soonest = soonest ? std::min(*soonest, *due) : *due;
    return soonest;
}

}  // namespace verbline::verbs
