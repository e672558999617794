// SPDX-License-Identifier: BSD-3-Clause
#include "datapath/router/shard.h"

#include <algorithm>
#include <utility>

#include <rte_mbuf.h>
#include <rte_rcu_qsbr.h>
#include <time.h>

#include "pmd/base/clock.h"

namespace verbline::router {
namespace {

constexpr unsigned commands_per_poll = 32;
constexpr Time expiry_period = 100 * millisecond;

Ports make_ports(const ShardSetup& setup) {
    Ports ports;
    for (const auto& port : setup.ports) {
        const auto id = static_cast<InterfaceId>(ports.size());
        ports.push_back(std::make_unique<ShardPort>(port, id, setup.queue, *setup.pool));
    }
    return ports;
}

/// How many devices are read by system calls.
unsigned count_lossless(const Ports& ports) {
    unsigned devices = 0;
    for (const auto& port : ports) {
        devices += port->link().capabilities().lossless_rx ? 1 : 0;
        devices += port->kernel_capabilities.lossless_rx ? 1 : 0;
    }
    return devices;
}

/// Carries out one command; one overload each.
struct Executor {
    Ports& ports;
    Router& router;
    Time now;

    ShardPort& port(InterfaceId id) const { return *ports[static_cast<std::size_t>(id)]; }

    void operator()(const SetEthernet& c) const {
        if (auto* link = port(c.port).ethernet()) link->set_mac(c.mac);
    }
    void operator()(const SetIpoib& c) const {
        if (auto* link = port(c.port).ipoib()) link->set_port(c.identity);
    }
    void operator()(const AttachGroup& c) const {
        if (auto* link = port(c.port).ipoib()) link->attach(c.group);
    }
    void operator()(const DetachGroup& c) const {
        if (auto* link = port(c.port).ipoib()) link->detach(c.group);
    }
    void operator()(const SetCarrier& c) const { port(c.port).carrier = c.carrier; }
    void operator()(const SetBroadcast& c) const {
        port(c.port).broadcast = c.to;
        port(c.port).ipv6_multicast = c.ipv6;
        port(c.port).resolves_groups = c.resolves_groups;
    }
    void operator()(const SetAddress& c) const { port(c.port).addresses = c; }
    void operator()(const SetNeighbour& c) const { router.set_neighbour(port(c.port), c.address, c.to); }
    void operator()(const ForgetNeighbour& c) const { router.forget_neighbour(port(c.port), c.address); }
    void operator()(const FailNeighbour& c) const { router.fail_neighbour(port(c.port), c.address, now); }
    void operator()(const Transmit& c) const { port(c.port).link().transmit(c.packet, c.to); }
    void operator()(const SetGroupRoute& c) const { router.set_group_route(c.group, {c.links, c.kernels}); }
    void operator()(const Deliver& c) const { router.to_kernel(port(c.port), c.packet); }
};

}  // namespace

Shard::Shard(const ShardSetup& setup)
    : readers_(*setup.readers),
      reader_(setup.queue),
      trace_(setup.trace),
      commands_(*setup.commands),
      events_(*setup.events, setup.wake_control, trace_),
      ports_(make_ports(setup)),
      read_by_calls_(count_lossless(ports_)),
      router_(ports_, {setup.fib, setup.ipv6_fib}, *setup.pool, events_, setup.deliver_all_to_kernel,
              TokenBucket::share(setup.shards), setup.flows, setup.max_neighbours),
      idle_(ports_, setup.wake) {
    rte_rcu_qsbr_thread_register(&readers_, reader_);  // offline, until it is polled
}

Shard::~Shard() {
    stop_reading();
    rte_rcu_qsbr_thread_unregister(&readers_, reader_);
}

Work Shard::poll(Time now) noexcept {
    meter_.begin_poll();
    if (!std::exchange(reading_, true)) rte_rcu_qsbr_thread_online(&readers_, reader_);
    bool busy = run_commands(now);
    for (auto& port : ports_) busy |= poll_link(*port, now);
    for (auto& port : ports_) busy |= poll_kernel(*port, now);
    for (auto& port : ports_) port->link().flush();
    if (now >= next_expiry_) {
        router_.expire(now);
        next_expiry_ = now + expiry_period;
    }
    events_.wake_control(busy, now);
    rte_rcu_qsbr_quiescent(&readers_, reader_);  // no route or next hop is held between polls
    meter_.end_poll(busy);
    return busy ? Work::busy : Work::idle;
}

void Shard::wait(Time longest) noexcept {
    stop_reading();  // or a change of routes would wait for the next packet
    meter_.begin_sleep(true);
    idle_.wait(longest);
    meter_.end_sleep();
}

void Shard::nap(Time time) noexcept {
    meter_.begin_sleep(false);
    const timespec t{.tv_sec = time / second, .tv_nsec = time % second};
    nanosleep(&t, nullptr);
    meter_.end_sleep();
}

void Shard::stop_reading() noexcept {
    if (std::exchange(reading_, false)) rte_rcu_qsbr_thread_offline(&readers_, reader_);
}

// NOLINTNEXTLINE(bugprone-exception-escape): std::visit throws for a variant without value, which a ring cannot hold
bool Shard::run_commands(Time now) noexcept {
    unsigned n = 0;
    for (; n < commands_per_poll; ++n) {
        const auto command = commands_.pop();
        if (!command) break;
        std::visit(Executor{ports_, router_, now}, *command);
    }
    if (n > 0) trace_.record(pmd::TraceEvent::commands, pmd::Trace::no_port, n);
    return n > 0;
}

bool Shard::poll_link(ShardPort& port, Time now) noexcept {
    const bool lossless = port.link().capabilities().lossless_rx;
    if (lossless && (congested() || port.link_pause.skips(meter_.busy(), now))) return false;
    auto& received = received_;
    const auto began = lossless ? monotonic_now() : 0;
    receive(port);
    if (lossless) port.link_pause.note(!received.idle, now, monotonic_now() - began, read_by_calls_);
    count_burst(port, pmd::TraceEvent::received, received.frames);
    for (const auto& punt : std::span(received.punts).first(received.punt_count)) {
        if (!events_.emit(Punted{port.id, punt.type, punt.packet})) rte_pktmbuf_free(punt.packet);
    }
    if (port.program && port.program->active()) [[unlikely]]
        run_program(port, now);
    if (received.ip_count > 0) router_.from_link(port, pmd::Burst(received.ip).first(received.ip_count), now);
    if (received.ipv6_count > 0) {
        router_.from_link_ipv6(port, pmd::Burst(received.ipv6).first(received.ipv6_count), now);
    }
    return !received.idle;
}

bool Shard::poll_kernel(ShardPort& port, Time now) noexcept {
    const auto queue = port.link().queue();
    port.kernel.tx_burst(queue, {});  // a device that several shards share sends here what others have for it
    const bool lossless = port.kernel_capabilities.lossless_rx;
    if (congested() || (lossless && port.kernel_pause.skips(meter_.busy(), now))) return false;
    std::array<rte_mbuf*, link::waiting_burst> packets;
    const auto began = lossless ? monotonic_now() : 0;
    const auto n = port.kernel.rx_burst(queue, packets);
    const bool found = n > 0 || port.kernel.rx_consumed(queue);
    if (lossless) port.kernel_pause.note(found, now, monotonic_now() - began, read_by_calls_);
    count_burst(port, pmd::TraceEvent::from_kernel, n);
    if (n > 0) router_.from_kernel(port, pmd::Burst(packets).first(n), now);
    return found;
}

/// Lets the port's program see what was received: what does not pass leaves `received_`.
void Shard::run_program(ShardPort& port, Time now) noexcept {
    using program::Family;
    program::Forwarded forwarded;
    const auto run = [&](Family family, pmd::Burst packets, std::uint16_t& count) {
        count = static_cast<std::uint16_t>(port.program->run(family, packets.first(count), now, forwarded));
        if (forwarded.size > 0) router_.forward_to_ports(port, family, forwarded, now);
    };
    if (received_.ip_count > 0) run(Family::ipv4, received_.ip, received_.ip_count);
    if (received_.ipv6_count > 0) run(Family::ipv6, received_.ipv6, received_.ipv6_count);
}

/// Receives one burst into `received_`, of an Ethernet link without the frames in front that could be forwarded as they
/// are. A program is to see each packet first.
void Shard::receive(ShardPort& port) noexcept {
    auto* const link = port.ethernet();
    if (link == nullptr || (port.program && port.program->active())) return port.link().receive(received_);
    std::array<rte_mbuf*, pmd::max_burst> frames;
    const auto burst = link->poll(frames, received_);
    link->sort(burst.subspan(router_.forward_frames(port, *link, burst)), received_);
}

void Shard::count_burst(const ShardPort& port, pmd::TraceEvent from, std::size_t packets) noexcept {
    if (packets == 0) return;
    trace_.record(from, static_cast<std::uint16_t>(port.id), packets);
    counters_.rx_bursts.add();
    counters_.rx_burst_packets.add(packets);
}

/// Whether frames are staged on any link. Devices with lossless receive are then not read, so that packets are not
/// dropped here.
bool Shard::congested() noexcept {
    const bool now = std::ranges::any_of(ports_, [](const auto& port) { return port->link().congested(); });
    if (std::exchange(congested_, now) != now)
        trace_.record(now ? pmd::TraceEvent::congested : pmd::TraceEvent::relieved);
    return now;
}

void Shard::counters(const Visitor& visit) const {
    const auto of = [&](std::string_view port) {
        return [&visit, port](std::string_view name, std::uint64_t value, std::string_view help) {
            visit(port, name, value, help);
        };
    };
    for (const auto& port : ports_) {
        port->link().counters(of(port->name));
        if (port->program) port->program->counters().each(of(port->name));
    }
    router_.counters(of(""));
    meter_.counters().each(of(""));
    counters_.each(of(""));
    of("")("events_lost", events_.lost.value(), "events not emitted because the ring was full");
    of("")("punted_packets", events_.punted.value(), "packets handed to the control thread: ARP, neighbour discovery");
    of("")("dropped_control_busy", events_.dropped.value(), "packets for the control thread, which was behind");
}

}  // namespace verbline::router
