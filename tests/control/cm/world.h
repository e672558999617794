// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// Nodes with a connection manager each, and a network of MADs between them that a test can hold in its hands.

#include <algorithm>
#include <deque>
#include <functional>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include "control/cm/manager.h"
#include "control/cm/message.h"
#include "control/mad/gmp.h"
#include "tests/support/counter.h"

namespace verbline::cm::test {

inline wire::Gid gid_of(unsigned node) {
    return wire::Gid::of(0, wire::Guid{0xffff'0a00'0000u + node});
}

constexpr wire::CmServiceId service{0x0106'1c06};
constexpr std::uint64_t exactly = ~std::uint64_t{0};  ///< a mask of service ids

/// MADs in the order in which they were sent; nothing is delivered before the test says so.
class World {
public:
    struct Flight {
        unsigned from = 0, to = 0;
        mad::MadBuffer mad{};
        wire::CmAttribute attribute() const { return cm::attribute(mad); }
    };

    /// Changes the options of a node.
    using Adjust = std::function<void(unsigned node, Manager::Options& options)>;

    class Node final : public mad::GmpChannel {
    public:
        Node(World& world, unsigned number, const Adjust& adjust = {}) : world_(world), number_(number) {
            Manager::Options options{
                .ca_guid = wire::Guid{0x1000 + number},
                .seed = 0x1234'5678'0000u + number * 0x1'0000,
                .on_ready = [this](Endpoint& endpoint) { ready.push_back(&endpoint); },
                .gid_index =
                    [this](const wire::Gid& gid) { return gid == gid_of(number_) ? std::optional(0u) : std::nullopt; }};
            if (adjust) adjust(number, options);
            manager = Manager::create(std::move(options), *this);
        }
        void send(const mad::GmpPeer& to, mad::MadBytes mad) noexcept override {
            Flight flight{.from = number_, .to = world_.number_of(to.path.address.dgid)};
            std::ranges::copy(mad, flight.mad.begin());
            world_.flights.push_back(flight);
        }

        Manager::Pointer manager;
        std::vector<Endpoint*> ready;

    private:
        World& world_;
        unsigned number_;
    };

    explicit World(unsigned nodes, const Adjust& adjust = {}) {
        for (unsigned i = 0; i < nodes; ++i) nodes_.push_back(std::make_unique<Node>(*this, i, adjust));
    }

    Node& node(unsigned number) { return *nodes_[number]; }
    Manager& manager(unsigned number) { return *nodes_[number]->manager; }

    void deliver(const Flight& flight) { manager(flight.to).receive(peer(flight.from), flight.mad, now); }
    static mad::GmpPeer peer(unsigned node) {
        return {.path = {.address = {.global = true, .dgid = gid_of(node), .hop_limit = 64}}};
    }
    /// The oldest; which it was.
    wire::CmAttribute deliver_one() {
        const auto flight = flights.front();
        flights.pop_front();
        deliver(flight);
        return flight.attribute();
    }
    void deliver_all() {
        while (!flights.empty()) deliver_one();
    }
    void pass(Time time) {
        now += time;
        for (const auto& node : nodes_) node->manager->tick(now);
    }

    Request request(unsigned from, unsigned to) const {
        Request request{.service = service, .qpn = wire::Qpn{0x100 + from}, .psn = wire::Psn{7}};
        request.primary.local_gid = gid_of(from);
        request.primary.remote_gid = gid_of(to);
        request.primary.route.address = {.global = true, .dgid = gid_of(to), .hop_limit = 64};
        return request;
    }
    std::uint64_t counter(unsigned node, std::string_view name) { return verbline::test::counter(manager(node), name); }

    Time now = second;
    std::deque<Flight> flights;

private:
    unsigned number_of(const wire::Gid& gid) const {
        return static_cast<unsigned>(static_cast<std::uint64_t>(gid.interface_id()) & 0xff'ffff);
    }

    std::vector<std::unique_ptr<Node>> nodes_;
};

/// The next event, which is to be of this kind; nothing if it is not.
template <class Kind>
std::optional<Kind> next(Endpoint& endpoint, Time now) {
    auto event = endpoint.poll(now);
    if (!event || !std::holds_alternative<Kind>(*event)) return std::nullopt;
    return std::get<Kind>(std::move(*event));
}

}  // namespace verbline::cm::test
