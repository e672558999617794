// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// The control thread's links to all shards of a router. State goes to all shards; a packet is sent by one,
/// always the same for a port, so that packets of a port keep their order.
///
///     SetNeighbour, SetCarrier, ... ──┬──> ShardLink ──> shard 0
///                                     ├──> ShardLink ──> shard 1
///     Transmit ── by port ────────────┴──> ShardLink ──> shard 2

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "control/router/shard_link.h"

namespace verbline::router {

class ShardLinks {
public:
    /// `count` links, at least one, called `name` with their number behind. `handler` receives the events of all.
    static Result<std::unique_ptr<ShardLinks>> create(control::Loop& loop, const std::string& name, std::uint16_t count,
                                                      const ShardLink::Handler& handler);
    /// One link for each of `sockets`, the NUMA sockets of the shards.
    static Result<std::unique_ptr<ShardLinks>> create(control::Loop& loop, const std::string& name,
                                                      std::span<const int> sockets, const ShardLink::Handler& handler);

    /// Sends what all shards have to know.
    template <class State>
        requires(!std::same_as<State, Transmit> && !std::same_as<State, Deliver> && !std::same_as<State, Command>)
    void send(const State& state) {
        for (const auto& link : links_) link->send(state);
    }
    /// Sends a packet, by the shard that transmits for its port.
    void send(const Transmit& packet) { of(packet.port).send(packet); }
    void send(const Deliver& packet) { of(packet.port).send(packet); }

    /// From now on the handler is not called.
    void ignore_events() {
        for (const auto& link : links_) link->ignore_events();
    }

    std::size_t size() const { return links_.size(); }
    ShardLink& operator[](std::size_t shard) const { return *links_[shard]; }

private:
    explicit ShardLinks(std::vector<std::unique_ptr<ShardLink>> links) : links_(std::move(links)) {}

    ShardLink& of(InterfaceId port) const { return *links_[static_cast<std::size_t>(port) % links_.size()]; }

    std::vector<std::unique_ptr<ShardLink>> links_;  ///< by shard
};

}  // namespace verbline::router
