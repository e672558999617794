// SPDX-License-Identifier: BSD-3-Clause
#include "tests/control/rdmacm/two_hosts.h"

namespace verbline::rdmacm::test {

NetworkPort::Facts facts_of(link::GidTable::Kind kind, unsigned host) {
    const bool ib = kind == link::GidTable::Kind::ib;
    const wire::MacAddress mac{{std::byte{2}, {}, {}, {}, {}, static_cast<std::byte>(host + 1)}};
    return {.name = "port" + std::to_string(host),
            .guid = wire::Guid{0x1000 + host},
            .kind = kind,
            .addresses = {{gid4(10, 0, 0, host + 1), 24}, {ipv6(0xfd00'0000'0000'0000, host + 1).gid, 64}},
            .ifindex = 7,
            .port_gid =
                ib ? wire::Gid::of(wire::default_subnet_prefix, wire::Guid{0x100 + host}) : link::link_local_gid(mac),
            .lid = ib ? wire::Lid{static_cast<std::uint16_t>(host + 1)} : wire::Lid{},
            .mtu = 4,
            .rate = 3,
            .broadcast_group = wire::Gid::of(0xff12'401b'ffff'0000, wire::Guid{0xffff'ffff}),
            .broadcast_qkey = wire::QKey{0x0b1b},
            .active = true};
}

FakePort::FakePort(Network& network, unsigned host, Facts facts)
    : network_(network), host_(host), now_(std::move(facts)) {
    manager_ = cm::Manager::create(
        cm::Manager::Options{
            .ca_guid = now_.guid,
            .seed = host + 1,
            .on_ready = [this](cm::Endpoint& endpoint) { ready.insert(&endpoint); },
            .gid_index = [this](const wire::Gid& gid) -> std::optional<unsigned> {
                const bool ib = now_.kind == link::GidTable::Kind::ib;
                return gid_index(gid, ib ? link::GidType::ib : link::GidType::roce_v2);
            },
            .bound = [this](wire::CmServiceId service) { return network_.host(host_).service->bound(*this, service); }},
        *this);
}

/// As tables are: link-local first, two types each.
std::optional<unsigned> FakePort::gid_index(const wire::Gid& gid, link::GidType type) const {
    if ((now_.kind == link::GidTable::Kind::ib) != (type == link::GidType::ib)) return std::nullopt;
    if (type == link::GidType::ib) return gid == now_.port_gid ? std::optional(0u) : std::nullopt;
    const unsigned second_type = type == link::GidType::roce_v2 ? 1 : 0;
    if (gid == now_.port_gid) return second_type;
    for (unsigned i = 0; i < now_.addresses.size(); ++i)
        if (now_.addresses[i].gid == gid) return 2 + 2 * i + second_type;
    return std::nullopt;
}

void FakePort::answer(Ticket ticket, std::function<void()> how) {
    if (answers) return how();
    waiting.emplace(ticket, std::move(how));
}

void FakePort::answer_all() {
    for (auto& [ticket, how] : std::exchange(waiting, {})) how();
}

void FakePort::find_neighbour(Ticket ticket, const wire::Gid&, const wire::Gid& to, NeighbourHandler handler) {
    answer(ticket, [this, to, handler] {
        if (refusal != 0) return handler(failure(refusal, "refused by the test"));
        for (const auto& host : network_.hosts) {
            const auto facts = host->port().facts();
            for (const auto& address : facts.addresses)
                if (address.gid == to)
                    return handler(Neighbour{link::mac_of_link_local(facts.port_gid).value_or(wire::MacAddress{}),
                                             facts.port_gid});
        }
        handler(failure(EHOSTUNREACH, "nobody has this address"));
    });
}

void FakePort::find_path(Ticket ticket, const wire::Gid& to, wire::PKey pkey, PathHandler handler) {
    answer(ticket, [this, to, pkey, handler] {
        if (refusal != 0) return handler(failure(refusal, "refused by the test"));
        for (const auto& host : network_.hosts) {
            const auto facts = host->port().facts();
            if (facts.port_gid == to)
                return handler(wire::PathRecord{.destination_gid = to,
                                                .source_gid = now_.port_gid,
                                                .destination_lid = facts.lid,
                                                .source_lid = now_.lid,
                                                .reversible = true,
                                                .pkey = pkey,
                                                .mtu = wire::IbMtu::bytes_2048,
                                                .rate = 3,
                                                .lifetime = 16});
        }
        handler(failure(ENETUNREACH, "no such port"));
    });
}

void FakePort::join(Ticket ticket, const GroupRequest& request, GroupHandler handler) {
    requests.push_back(request);
    answer(ticket, [this, ticket, request, handler] {
        if (refusal != 0) return handler(failure(refusal, "refused by the test"));
        joined.emplace(ticket, request.mgid);
        const bool ib = now_.kind == link::GidTable::Kind::ib;
        handler(JoinedGroup{.mgid = request.mgid,
                            .mlid = ib ? wire::Lid{0xc007} : wire::Lid{},
                            .qkey = request.qkey.value_or(now_.broadcast_qkey),
                            .hop_limit = 3,
                            .mtu = 4});
    });
}

void FakePort::leave(Ticket ticket, const wire::Gid& mgid) {
    EXPECT_TRUE(joined.contains(ticket) && joined.at(ticket) == mgid);
    joined.erase(ticket);
}

decltype(FakePort::reserved)::iterator FakePort::find(PortSpace space, std::uint16_t number, const PortUse& use) {
    const auto [first, last] = reserved.equal_range({space, number});
    const auto found = std::find_if(first, last, [&](const auto& entry) { return entry.second == use; });
    EXPECT_NE(found, last) << "it is reserved so";
    return found;
}

bool FakePort::conflicts(PortSpace space, std::uint16_t number, const PortUse& use) const {
    const auto [first, last] = reserved.equal_range({space, number});
    return std::any_of(first, last,
                       [&](const auto& entry) { return conflict(entry.second, use) != PortConflict::none; });
}

Result<std::uint16_t> FakePort::reserve(PortSpace space, std::uint16_t number, const PortUse& use) {
    if (number == 0) {
        while (reserved.contains({space, ephemeral_})) ++ephemeral_;
        number = ephemeral_++;
    }
    if (conflicts(space, number, use)) return failure(EADDRINUSE, "another process has it");
    reserved.insert({{space, number}, use});
    return number;
}

Result<void> FakePort::rebind(PortSpace space, std::uint16_t number, const PortUse& from, const PortUse& to) {
    reserved.erase(find(space, number, from));
    const bool denied = conflicts(space, number, to);
    reserved.insert({{space, number}, denied ? from : to});
    return denied ? Result<void>(failure(EADDRINUSE, "another process has it")) : Result<void>();
}

void FakePort::release(PortSpace space, std::uint16_t number, const PortUse& use) {
    reserved.erase(find(space, number, use));
}

void FakePort::send(const mad::GmpPeer& to, mad::MadBytes mad) noexcept {
    network_.carry(host_, to, mad);
}

void Host::start(std::uint64_t seed) {
    std::vector<NetworkPort*> all;
    for (const auto& port : ports) all.push_back(port.get());
    service = Service::create(std::move(all), seed);
}

void Host::run(Time now) {
    for (const auto& port : ports)
        for (cm::Endpoint* endpoint : std::exchange(port->ready, {})) service->ready(*endpoint, now);
}

bool Host::idle() const {
    return std::ranges::all_of(ports, [](const auto& port) { return port->ready.empty(); });
}

CmEvent Host::expect(EventKind kind) {
    auto event = service->take_event(queue);
    if (!event) {
        ADD_FAILURE() << "no event, but one of kind " << static_cast<int>(kind) << " was expected";
        return {};
    }
    EXPECT_EQ(static_cast<int>(event->kind), static_cast<int>(kind)) << "status " << event->status;
    return *std::move(event);
}

Network::Network(link::GidTable::Kind kind, unsigned count) {
    for (unsigned i = 0; i < count; ++i) {
        hosts.push_back(std::make_unique<Host>());
        hosts.back()->ports.push_back(std::make_unique<FakePort>(*this, i, facts_of(kind, i)));
        hosts.back()->start(100 + i);
    }
}

Network::~Network() {
    lose = {};  // what it refers to is the test's, and gone
    for (auto& host : hosts) host->service.reset();
}

void Network::carry(unsigned from, const mad::GmpPeer& to, mad::MadBytes mad) {
    if (lose && lose(from)) return;
    const auto& sender = host(from).port().facts();
    const auto& address = to.path.address;
    for (auto& receiver : hosts) {
        auto& port = receiver->port();
        const auto facts = port.facts();
        const bool ib = facts.kind == link::GidTable::Kind::ib;
        const auto index = ib ? std::optional(0u) : port.gid_index(address.dgid, link::GidType::roce_v2);
        if (ib ? address.dlid != facts.lid : !index) continue;
        mad::GmpPeer peer{.pkey = to.pkey};
        peer.path.gid_index = *index;
        peer.path.address = {.dlid = sender.lid, .sl = address.sl, .global = address.global, .hop_limit = 64};
        if (ib) {
            peer.path.address.dgid = sender.port_gid;
        } else {
            const auto gid = to.path.gid_index;
            peer.path.address.dgid = gid < 2 ? sender.port_gid : sender.addresses.at((gid - 2) / 2).gid;
            peer.path.mac = link::mac_of_link_local(sender.port_gid).value_or(wire::MacAddress{});
        }
        in_flight_.push_back({.to = &port, .from = peer});
        std::ranges::copy(mad, in_flight_.back().mad.begin());
        return;
    }
}

void Network::settle() {
    for (int round = 0; round < 1'000'000; ++round) {
        for (auto& host : hosts) host->run(now);
        if (in_flight_.empty()) {
            if (std::ranges::all_of(hosts, [](const auto& host) { return host->idle(); })) return;
            continue;
        }
        now += 10 * microsecond;
        const auto arrived = std::move(in_flight_.front());
        in_flight_.pop_front();
        arrived.to->manager().receive(arrived.from, arrived.mad, now);
    }
    ADD_FAILURE() << "the network does not come to rest";
}

void Network::pass(Time time) {
    const Time end = now + time;
    settle();
    for (int round = 0; round < 100'000; ++round) {
        std::optional<Time> next;
        const auto consider = [&](std::optional<Time> when) {
            if (when && (!next || *when < *next)) next = when;
        };
        for (auto& host : hosts) {
            consider(host->service->deadline());
            for (auto& port : host->ports) consider(port->manager().deadline());
        }
        if (!next || *next > end) break;
        now = std::max(now, *next);
        for (auto& host : hosts) {
            for (auto& port : host->ports) port->manager().tick(now);
            host->service->tick(now);
        }
        settle();
    }
    now = std::max(now, end);
}

}  // namespace verbline::rdmacm::test
