// SPDX-License-Identifier: BSD-3-Clause
#include "datapath/router/shard.h"

#include <algorithm>
#include <utility>

#include <rte_mbuf.h>
#include <rte_prefetch.h>
#include <rte_rcu_qsbr.h>
#include <time.h>

#include "datapath/link/mbuf.h"
#include "datapath/wire/ethernet.h"
#include "pmd/base/clock.h"

namespace verbline::router {
namespace {

constexpr unsigned commands_per_poll = 32;
constexpr Time expiry_period = 100 * millisecond;
constexpr std::size_t ahead = 4;  ///< frames whose headers are fetched meanwhile, for a program

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
    void operator()(const SetChecks& c) const { router.set_checks(port(c.port), c.clamp_mss, c.reverse_path); }
    void operator()(const SetAdvertises& c) const { port(c.port).advertises = c.advertises; }
    void operator()(const SetMulticast& c) const { port(c.port).multicast = c.routed; }
    void operator()(const SetDevice& c) const {
        port(c.port).link().set_device(*c.device);
        if (auto* connections = port(c.port).connections) connections->set_device(*c.device);
        c.left->fetch_sub(1, std::memory_order_release);
    }
    void operator()(const SetNeighbour& c) const { router.set_neighbour(port(c.port), c.address, c.to, now); }
    void operator()(const ForgetNeighbour& c) const { router.forget_neighbour(port(c.port), c.address); }
    void operator()(const FailNeighbour& c) const { router.fail_neighbour(port(c.port), c.address, now); }
    void operator()(const CloseConnection& c) const {
        if (auto* connections = port(c.port).connections) connections->close(c.number);
    }
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
    for (auto& port : ports_) {
        port->link().flush();
        if (port->connections != nullptr) busy |= port->connections->poll(now);
    }
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
    for (const auto& port : ports_) {
        const auto due = port->connections != nullptr ? port->connections->deadline() : std::nullopt;
        if (due) longest = std::clamp(*due - monotonic_now(), Time{0}, longest);
    }
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
    if (lossless && (congested(now) || port.link_pause.skips(meter_.busy(), now))) return false;
    auto& received = received_;
    const auto began = lossless ? monotonic_now() : 0;
    receive(port, now);
    if (lossless) port.link_pause.note(!received.idle, now, monotonic_now() - began, read_by_calls_);
    count_burst(port, pmd::TraceEvent::received, received.frames);
    for (const auto& punt : std::span(received.punts).first(received.punt_count)) {
        if (!events_.emit(Punted{port.id, punt.type, punt.packet})) rte_pktmbuf_free(punt.packet);
    }
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
    if (congested(now) || (lossless && port.kernel_pause.skips(meter_.busy(), now))) return false;
    std::array<rte_mbuf*, link::waiting_burst> packets;
    const auto began = lossless ? monotonic_now() : 0;
    const auto n = port.kernel.rx_burst(queue, packets);
    const bool found = n > 0 || port.kernel.rx_consumed(queue);
    if (lossless) port.kernel_pause.note(found, now, monotonic_now() - began, read_by_calls_);
    count_burst(port, pmd::TraceEvent::from_kernel, n);
    if (n > 0) router_.from_kernel(port, pmd::Burst(packets).first(n), now);
    return found;
}

/// Receives one burst into `received_`, without what the port's program has dropped or sent elsewhere; of an Ethernet
/// link also without the frames in front that could be forwarded as they are.
void Shard::receive(ShardPort& port, Time now) noexcept {
    auto* const link = port.ethernet();
    const bool has_program = port.program && port.program->active();
    if (link == nullptr) {
        port.link().receive(received_);
        if (has_program) run_program(port, now);
        return;
    }
    std::array<rte_mbuf*, pmd::max_burst> frames;
    auto burst = link->poll(frames, received_);
    if (has_program) [[unlikely]]
        burst = run_program(port, *link, burst, now);
    link->sort(burst.subspan(router_.forward_frames(port, *link, burst)), received_);
}

/// Lets the port's program see the packets of `received_`: what does not pass leaves it.
void Shard::run_program(ShardPort& port, Time now) noexcept {
    using program::Family;
    std::array<Family, pmd::max_burst> families;
    program::Forwarded forwarded;
    const auto run = [&](Family family, pmd::Burst packets, std::uint16_t& count) {
        families.fill(family);
        const auto outcome = port.program->run(packets.first(count), families, 0, now, forwarded);
        count = static_cast<std::uint16_t>(outcome.kept);
        if (forwarded.size > 0) router_.forward_to_ports(port, forwarded, now);
    };
    if (received_.ip_count > 0) run(Family::ipv4, received_.ip, received_.ip_count);
    if (received_.ipv6_count > 0) run(Family::ipv6, received_.ipv6, received_.ipv6_count);
}

/// The same of frames with their headers on, so that those that pass can be forwarded as they are; returns what is
/// left.
pmd::Burst Shard::run_program(ShardPort& port, link::EthernetInterface& link, pmd::Burst frames, Time now) noexcept {
    std::array<program::Family, pmd::max_burst> families;
    for (std::size_t i = 0; i < frames.size(); ++i) {
        if (i + ahead < frames.size()) rte_prefetch0(rte_pktmbuf_mtod(frames[i + ahead], const void*));
        families[i] = static_cast<program::Family>(link.ip_version_of(*frames[i]));
    }
    program::Forwarded forwarded;
    const auto outcome = port.program->run(frames, families, wire::Ethernet::size, now, forwarded);
    link.count_received(frames.size() - outcome.kept, outcome.gone_bytes);
    for (auto* packet : std::span(forwarded.packets).first(forwarded.size)) {
        rte_pktmbuf_adj(packet, wire::Ethernet::size);
        link::set_link_header(*packet, 0);
    }
    if (forwarded.size > 0) router_.forward_to_ports(port, forwarded, now);
    return frames.first(outcome.kept);
}

void Shard::count_burst(const ShardPort& port, pmd::TraceEvent from, std::size_t packets) noexcept {
    if (packets == 0) return;
    trace_.record(from, static_cast<std::uint16_t>(port.id), packets);
    counters_.rx_bursts.add();
    counters_.rx_burst_packets.add(packets);
}

/// Whether frames are staged on any link. Devices with lossless receive are then not read, so that packets are not
/// dropped here.
bool Shard::congested(Time now) noexcept {
    const bool is = std::ranges::any_of(ports_, [now](const auto& port) {
        return port->link().congested() || (port->connections != nullptr && port->connections->congested(now));
    });
    if (std::exchange(congested_, is) != is) trace_.record(is ? pmd::TraceEvent::congested : pmd::TraceEvent::relieved);
    return is;
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
        if (port->connections != nullptr) port->connections->counters(of(port->name));
    }
    router_.counters(of(""));
    meter_.counters().each(of(""));
    counters_.each(of(""));
    of("")("events_lost", events_.lost.value(), "events not emitted because the ring was full");
    of("")("punted_packets", events_.punted.value(), "packets handed to the control thread: ARP, neighbour discovery");
    of("")("dropped_control_busy", events_.dropped.value(), "packets for the control thread, which was behind");
}

}  // namespace verbline::router
