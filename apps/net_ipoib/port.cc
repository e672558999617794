// SPDX-License-Identifier: BSD-3-Clause
#include "apps/net_ipoib/port.h"

#include <algorithm>
#include <chrono>
#include <functional>
#include <list>
#include <thread>
#include <utility>

#include <rte_errno.h>
#include <rte_mbuf.h>
#include <rte_mempool.h>

#include <fmt/format.h>

#include "apps/net_ipoib/null_carrier.h"
#include "control/mad/open.h"
#include "datapath/offload/segmentation.h"
#include "datapath/wire/ethernet.h"
#include "datapath/wire/text.h"
#include "pmd/packet_pool.h"

namespace verbline::net_ipoib {
namespace {

constexpr unsigned packets = 8'192, packets_of_queue = 2'048, pool_cache = 256;
constexpr unsigned events_capacity = 1'024;
constexpr int leave_waits = 50;
constexpr std::chrono::milliseconds leave_wait{10};

/// What the control thread has not come to.
void free_events(router::Ring<router::Event>& events) {
    while (const auto event = events.pop()) rte_pktmbuf_free(router::packet_of(*event));
}

}  // namespace

void Port::FreePool::operator()(rte_mempool* pool) const {
    rte_mempool_free(pool);
}

Result<std::unique_ptr<Port>> Port::open(const Arguments& arguments, const std::string& name, Log log) {
    std::unique_ptr<Port> port(new Port(arguments, name, std::move(log)));
    port->wake_ = EventDescriptor::make();
    if (!port->wake_) return failure(errno, "no descriptor is left for an eventfd; raise the limit (ulimit -n)");
    port->max_mtu_ = arguments.mtu;
    if (!arguments.device) {
        port->mac_ = arguments.mac.value_or(
            ProxyAddresses::made_of({.qpn = NullCarrier::own().qpn, .gid = NullCarrier::own().port.gid}));
        return port;
    }
    if (auto started = port->start_thread(); !started) return std::unexpected(started.error());
    if (arguments.roce) {
        // Only the program sees it: of the port's name, the same after a restart.
        const auto guid = wire::Guid{std::hash<std::string>{}(name)};
        port->mac_ = arguments.mac.value_or(ProxyAddresses::made_of({.gid = wire::Gid::of(0, guid)}));
        return port;
    }
    if (auto reached = port->reach_subnet(); !reached) return std::unexpected(reached.error());
    return port;
}

Port::~Port() {
    stop();
    // What belongs to the thread goes on it.
    if (thread_) {
        thread_->call([this] {
            agent_.reset();
            transport_.reset();
        });
    }
}

Result<void> Port::start_thread() {
    auto thread = ControlThread::start("net_ipoib");
    if (!thread) return std::unexpected(thread.error());
    thread_ = std::move(*thread);
    return {};
}

Result<void> Port::reach_subnet() {
    Result<void> reached;
    thread_->call([&] {
        auto transport = mad::open(arguments_.sm, thread_->loop());
        if (!transport) {
            reached = std::unexpected(transport.error());
            return;
        }
        transport_ = std::move(*transport);
        agent_ = std::make_unique<sa::Agent>(*transport_, thread_->loop());
    });
    if (!reached) return reached;
    const auto& facts = transport_->port();
    const auto limit = ipoib::mtu_of_link(facts.mtu);
    if (facts.mtu != 0 && arguments_.mtu > limit)
        return failure(EINVAL, fmt::format("mtu={} is above the {} that the link of {} allows", arguments_.mtu, limit,
                                           arguments_.sm));
    // Of its own address, as hosts' are of theirs: the same after a restart.
    mac_ = arguments_.mac.value_or(ProxyAddresses::made_of({.qpn = wire::Qpn{ipoib::first_qpn}, .gid = facts.gid()}));
    return {};
}

/// Of a frame of the link, in one buffer, from its Ethernet header on; of an adapter's datagram.
std::uint32_t Port::frame_bytes() const {
    if (arguments_.adapter()) return ipoib::link_mtu_of(arguments_.mtu);
    return arguments_.mtu + (arguments_.roce ? wire::Ethernet::size + ipoib::roce_overhead : ipoib::frame_overhead);
}

Result<void> Port::make_pool(std::size_t queues) {
    const auto room = static_cast<std::uint16_t>(RTE_PKTMBUF_HEADROOM + frame_bytes() + offload::segment_tailroom);
    pool_.reset(pmd::make_packet_pool(name_.c_str(), packets + packets_of_queue * static_cast<unsigned>(queues),
                                      pool_cache, room, SOCKET_ID_ANY, pmd::BufferLayout::packed));
    if (!pool_) return failure(rte_errno, "no memory for packets: give the program more with -m, or free hugepages");
    return {};
}

Result<void> Port::open_device(const Setup& setup) {
    const bool spreads = Carrier::spreads(arguments_, setup.receive.size());
    // What other queues receive must be in the buffers that the program has chosen for this one.
    const auto suits = [&](rte_mempool* pool) {
        return rte_pktmbuf_data_room_size(pool) >= RTE_PKTMBUF_HEADROOM + frame_bytes() &&
               (!spreads || pool == setup.receive.front());
    };
    zero_copy_ = std::ranges::all_of(setup.receive, suits);
    flows_ = std::make_unique<link::FrameFlowHash>(setup.key ? *setup.key : link::FrameFlowHash::random_key());
    auto carrier = Carrier::open(arguments_,
                                 {.receive = static_cast<std::uint16_t>(setup.receive.size()),
                                  .transmit = setup.transmit,
                                  .pools = zero_copy_ ? pmd::PacketPools(setup.receive) : pmd::PacketPools(pool_.get()),
                                  .frame_bytes = frame_bytes(),
                                  .flows = flows_.get(),
                                  .redirection = redirection(setup)});
    if (!carrier) return std::unexpected(carrier.error());
    carrier_ = std::move(*carrier);
    return {};
}

/// The program's, if it names none but its queues: it may have fewer since.
std::vector<std::uint16_t> Port::redirection(const Setup& setup) const {
    if (!setup.spread) return std::vector<std::uint16_t>(redirection_entries, 0);
    const bool possible = std::ranges::all_of(redirection_, [&](auto queue) { return queue < setup.receive.size(); });
    return possible ? redirection_ : std::vector<std::uint16_t>{};
}

std::optional<pmd::RssTable> Port::spread() const {
    return carrier_.spreading != nullptr ? carrier_.spreading->rss() : std::nullopt;
}

Result<void> Port::redirect(std::vector<std::uint16_t> redirection) {
    if (carrier_.spreading == nullptr) return failure(ENOTSUP, "the device spreads packets over its queues itself");
    Result<void> changed;
    thread_->call([&] {
        std::list<pmd::QuiescentGate::Hold> outside;
        for (auto& [events, end] : queues_.receive) outside.emplace_back(end->gate());
        changed = carrier_.spreading->redirect(redirection);
    });
    if (changed) redirection_ = std::move(redirection);
    return changed;
}

Result<void> Port::make_queues(const Setup& setup) {
    const auto make_events = [&](char direction,
                                 std::size_t queue) -> Result<std::unique_ptr<router::Ring<router::Event>>> {
        auto ring = router::Ring<router::Event>::create(fmt::format("ipoib{}{}{}", setup.number, direction, queue),
                                                        events_capacity);
        if (!ring) return std::unexpected(ring.error());
        return std::make_unique<router::Ring<router::Event>>(std::move(*ring));
    };
    const auto hosts = static_cast<std::uint32_t>(arguments_.hosts);
    for (std::size_t i = 0; i < setup.receive.size(); ++i) {
        auto events = make_events('r', i);
        if (!events) return std::unexpected(events.error());
        auto end = ReceiveEnd::create({.device = carrier_.device.get(),
                                       .queue = static_cast<std::uint16_t>(i),
                                       .frames = zero_copy_ ? setup.receive[i] : pool_.get(),
                                       .packets = setup.receive[i],
                                       .events = events->get(),
                                       .wake = &wake_,
                                       .port = setup.number,
                                       .checksums = setup.checksums,
                                       .chains = setup.chains,
                                       .hosts = hosts});
        if (!end) return std::unexpected(end.error());
        queues_.receive.push_back({std::move(*events), std::move(*end)});
    }
    for (std::uint16_t i = 0; i < setup.transmit; ++i) {
        auto events = make_events('t', i);
        if (!events) return std::unexpected(events.error());
        auto end = std::make_unique<TransmitEnd>(TransmitEnd::Setup{.device = carrier_.device.get(),
                                                                    .queue = i,
                                                                    .pool = pool_.get(),
                                                                    .events = events->get(),
                                                                    .wake = &wake_,
                                                                    .mtu = setup.mtu,
                                                                    .hosts = hosts});
        queues_.transmit.push_back({std::move(*events), std::move(end)});
    }
    return {};
}

Result<void> Port::start(const Setup& setup) {
    const auto steps = [&]() -> Result<void> {
        if (auto made = make_pool(setup.receive.size() + setup.transmit); !made) return made;
        if (auto opened = open_device(setup); !opened) return opened;
        if (auto made = make_queues(setup); !made) return made;
        if (auto up = carrier_.device->up(); !up) return up;
        if (thread_) return start_control(setup);
        connect_null(setup);
        return {};
    };
    auto started = steps();
    if (!started) stop();
    return started;
}

Result<void> Port::start_control(const Setup& setup) {
    Result<void> started;
    thread_->call([&] {
        control_ = std::make_unique<Control>(thread_->loop(), agent_.get(), queues_,
                                             Control::Setup{.pkey = arguments_.pkey,
                                                            .qpn = wire::Qpn{ipoib::first_qpn},
                                                            .mac = mac_,
                                                            .link_mac = mac_,
                                                            .hosts = arguments_.hosts,
                                                            .device = carrier_.device.get(),
                                                            .pool = pool_.get(),
                                                            .wake = &wake_,
                                                            .link =
                                                                [this, changed = setup.link_changed](bool up) {
                                                                    link_up_ = up;
                                                                    changed();
                                                                },
                                                            .log = log_});
        started = control_->start();
        control_->set_groups(groups_);
        control_->receive_all_groups(all_groups_);
    });
    return started;
}

/// Without a wire nothing has to be found out.
void Port::connect_null(const Setup& setup) {
    const auto& own = NullCarrier::own();
    const auto& host = NullCarrier::host();
    const auto mac = ProxyAddresses::made_of({.qpn = host.qpn, .gid = host.port.gid});
    const auto to = [&](wire::EtherType type) {
        return ipoib::destination(own, {.dlid = host.port.lid}, host.qpn, type);
    };
    for (auto& [events, end] : queues_.receive) {
        end->link().set_port(own);
        end->set_mac(mac_);
        end->set_sender({.lid = host.port.lid, .qpn = host.qpn}, mac);
    }
    for (auto& [events, end] : queues_.transmit) {
        end->link().set_port(own);
        end->set_host(mac, to(wire::ether_type::ipv4), to(wire::ether_type::ipv6));
    }
    link_up_ = true;
    setup.link_changed();
}

/// Leaving a group is a question to the subnet administrator, for whose answer there is a moment.
void Port::stop() {
    if (control_) {
        thread_->call([this] { control_.reset(); });
        for (int i = 0; agent_ != nullptr && i < leave_waits; ++i) {
            bool left = false;
            thread_->call([&] { left = agent_->groups().show().empty(); });
            if (left) break;
            std::this_thread::sleep_for(leave_wait);
        }
    }
    link_up_ = false;
    for (auto& queue : queues_.receive) free_events(*queue.events);
    for (auto& queue : queues_.transmit) free_events(*queue.events);
    queues_ = {};
    carrier_ = {};
    flows_.reset();
    pool_.reset();
}

void Port::set_mac(wire::MacAddress mac) {
    mac_ = mac;
    if (control_) return thread_->call([&] { control_->set_mac(mac); });
    for (auto& [events, end] : queues_.receive) {
        const pmd::QuiescentGate::Hold hold(end->gate());
        end->set_mac(mac);
    }
}

void Port::set_mtu(std::uint32_t mtu) {
    const auto set = [&] {
        for (auto& [events, end] : queues_.transmit) {
            const pmd::QuiescentGate::Hold hold(end->gate());
            end->set_mtu(mtu);
        }
    };
    if (thread_) return thread_->call(set);
    set();
}

void Port::set_groups(std::vector<wire::MacAddress> groups) {
    groups_ = std::move(groups);
    if (control_) thread_->call([this] { control_->set_groups(groups_); });
}

void Port::receive_all_groups(bool all) {
    all_groups_ = all;
    if (control_) thread_->call([this] { control_->receive_all_groups(all_groups_); });
}

/// By the names that DPDK gives queues' counters.
void Port::count_queues(const CounterVisitor& visit) const {
    const auto of = [&](const auto& queues, const std::string& direction) {
        for (std::size_t i = 0; i < queues.size(); ++i) {
            queues[i].end->counters([&](std::string_view name, std::uint64_t value, std::string_view) {
                if (name == direction + "_frames")
                    visit(fmt::format("{}_q{}_packets", direction, i), value, "of the queue");
                if (name == direction + "_frame_bytes")
                    visit(fmt::format("{}_q{}_bytes", direction, i), value, "of the queue");
            });
        }
    };
    of(queues_.receive, "rx");
    of(queues_.transmit, "tx");
}

void Port::counters(const CounterVisitor& visit, bool all) const {
    if (!carrier_.device) return;
    CounterSums sums;
    for (const auto& [events, end] : queues_.receive) end->counters(sums.add());
    for (const auto& [events, end] : queues_.transmit) end->counters(sums.add());
    sums.each(visit);
    count_queues(visit);
    if (!all) return;
    const auto rest = [&] {
        carrier_.device->counters([&](std::string_view name, std::uint64_t value, std::string_view help) {
            visit(fmt::format("device_{}", name), value, help);
        });
        if (control_) control_->counters(visit);
    };
    if (!thread_) return rest();
    thread_->call(rest);  // which may connect the device anew meanwhile
}

}  // namespace verbline::net_ipoib
