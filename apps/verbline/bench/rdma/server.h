// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// The end that waits for one client, and does what that asks for.

#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "apps/verbline/bench/rdma/channel.h"
#include "apps/verbline/bench/rdma/pairs.h"
#include "apps/verbline/bench/rdma/traffic.h"

namespace verbline::rdma_bench {

/// What the server has seen of a round.
struct ServedRound {
    Round round;
    Account account;
};

class Server {
public:
    /// `port` outlives the server. `number`: of its service. `stop` ends it.
    Server(Port& port, std::uint16_t number, const std::atomic<bool>& stop)
        : port_(port), number_(number), stop_(stop) {}

    /// Queue pairs can be made, and clients come, from now on. EADDRINUSE: the node has another server.
    Result<void> open();
    /// Serves until the client says that it is done. ETIMEDOUT: the client says nothing any more. ECANCELED: stopped;
    /// without a client that is no failure.
    Result<void> run();

    const std::vector<ServedRound>& rounds() const { return rounds_; }
    const std::optional<Peer>& client() const { return client_; }

private:
    std::optional<Message> answer(const Peer& from, const Message& request);
    Payload hello(const Peer& from, const Message& request);
    Welcome welcome(const Peer& from, const Hello& hello);
    Result<Payload> pairs(const Message& request);
    Result<void> begin(const Message& request);
    Message end(const Message& request);
    bool settled(const Account& client, Time now);

    Port& port_;
    const std::uint16_t number_;
    const std::atomic<bool>& stop_;
    std::unique_ptr<Channel> channel_;
    std::optional<Peer> client_;
    std::uint32_t mtu_ = 0;
    PeerMemory client_memory_;
    Payload first_hello_{};
    std::unique_ptr<Pairs> pairs_;
    std::unique_ptr<Traffic> traffic_;  // before its pairs
    std::vector<ServedRound> rounds_;
    Time heard_ = 0, last_arrival_ = 0;
    std::uint64_t arrived_ = 0;
    bool over_ = false;
};

}  // namespace verbline::rdma_bench
