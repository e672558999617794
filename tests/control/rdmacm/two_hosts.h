// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// Hosts with RDMA CM on a network that exists in memory: the real connection managers, MADs that take a while, a clock
/// that the test moves. Links may be RoCE or InfiniBand.

#include <algorithm>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "control/cm/manager.h"
#include "control/rdmacm/service.h"
#include "datapath/link/ip_gid.h"

namespace verbline::rdmacm::test {

inline constexpr std::uint16_t service_port = 7174;  ///< that services of these tests have

inline wire::Gid gid4(unsigned a, unsigned b, unsigned c, unsigned d) {
    return link::gid_of(wire::ipv4(a, b, c, d));
}
inline SocketAddress ipv4(unsigned a, unsigned b, unsigned c, unsigned d, std::uint16_t port = 0) {
    return {.family = Family::ipv4, .gid = gid4(a, b, c, d), .port = port};
}
inline SocketAddress any4(std::uint16_t port = 0) {
    return {.family = Family::ipv4, .gid = SocketAddress::any_ipv4(), .port = port};
}
inline SocketAddress ipv6(std::uint64_t prefix, std::uint64_t rest, std::uint16_t port = 0) {
    return {.family = Family::ipv6, .gid = wire::Gid::of(prefix, wire::Guid{rest}), .port = port};
}
inline SocketAddress any6(std::uint16_t port = 0) {
    return {.family = Family::ipv6, .port = port};
}

class Network;

/// One port of one host. What it is asked, it answers at once, later, or never, as the test wants.
class FakePort final : public NetworkPort, public mad::GmpChannel {
public:
    FakePort(Network& network, unsigned host, Facts facts);

    Facts facts() const override { return now_; }
    cm::Manager& manager() override { return *manager_; }
    std::optional<unsigned> gid_index(const wire::Gid& gid, link::GidType type) const override;
    void find_neighbour(Ticket ticket, const wire::Gid& from, const wire::Gid& to, NeighbourHandler handler) override;
    void find_path(Ticket ticket, const wire::Gid& to, wire::PKey pkey, PathHandler handler) override;
    void join(Ticket ticket, const GroupRequest& request, GroupHandler handler) override;
    void leave(Ticket ticket, const wire::Gid& mgid) override;
    void cancel(Ticket ticket) override { waiting.erase(ticket); }
    Result<std::uint16_t> reserve(PortSpace space, std::uint16_t number, const PortUse& use) override;
    Result<void> rebind(PortSpace space, std::uint16_t number, const PortUse& from, const PortUse& to) override;
    void release(PortSpace space, std::uint16_t number, const PortUse& use) override;
    void send(const mad::GmpPeer& to, mad::MadBytes mad) noexcept override;

    Facts& change() { return now_; }
    bool answers = true;  ///< else whoever asks waits until `answer_all`
    int refusal = 0;      ///< an errno that everything is answered with
    std::map<Ticket, std::function<void()>> waiting;
    std::map<Ticket, wire::Gid> joined;
    std::vector<GroupRequest> requests;
    std::multimap<std::pair<PortSpace, std::uint16_t>, PortUse> reserved;  ///< also by other processes
    std::set<cm::Endpoint*> ready;
    void answer_all();

private:
    friend class Network;
    friend class Host;

    void answer(Ticket ticket, std::function<void()> how);
    decltype(reserved)::iterator find(PortSpace space, std::uint16_t number, const PortUse& use);
    bool conflicts(PortSpace space, std::uint16_t number, const PortUse& use) const;

    Network& network_;
    unsigned host_;
    Facts now_;
    cm::Manager::Pointer manager_;
    std::uint16_t ephemeral_ = 40'000;
};

class Host {
public:
    std::vector<std::unique_ptr<FakePort>> ports;
    EventQueue queue;
    std::unique_ptr<Service> service;

    FakePort& port(std::size_t at = 0) { return *ports.at(at); }
    void start(std::uint64_t seed);
    void run(Time now);
    /// The next event, which must be of this kind.
    CmEvent expect(EventKind kind);
    bool quiet() const { return queue.events.empty(); }
    bool idle() const;  ///< no endpoint of its has anything to poll
};

class Network {
public:
    explicit Network(link::GidTable::Kind kind = link::GidTable::Kind::roce, unsigned hosts = 2);
    ~Network();

    Time now = second;
    std::vector<std::unique_ptr<Host>> hosts;
    std::function<bool(unsigned from)> lose;  ///< whether this MAD is lost

    Host& host(unsigned at) { return *hosts.at(at); }
    /// Everything that is under way arrives, and what that leads to; no time passes but the network's.
    void settle();
    /// Timers included.
    void pass(Time time);

    void carry(unsigned from, const mad::GmpPeer& to, mad::MadBytes mad);

private:
    struct InFlight {
        FakePort* to;
        mad::GmpPeer from;
        mad::MadBuffer mad;
    };
    std::deque<InFlight> in_flight_;
};

/// 10.0.0.<host + 1>/24, fd00::<host + 1>/64, link-local; on InfiniBand LID host + 1.
NetworkPort::Facts facts_of(link::GidTable::Kind kind, unsigned host);

}  // namespace verbline::rdmacm::test
