// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// The end that says what is measured, and measures.
///
///     hello, pairs, connect ──> for each round: begin ──> Traffic ──> end, contents ──> bye

#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "apps/verbline/bench/rdma/channel.h"
#include "apps/verbline/bench/rdma/pairs.h"
#include "apps/verbline/bench/rdma/statistics.h"
#include "apps/verbline/bench/rdma/traffic.h"

namespace verbline::rdma_bench {

struct RoundResult {
    Round round;
    std::uint64_t iterations = 0;  ///< of all queue pairs together
    BandwidthFigures ours;
    std::optional<BandwidthFigures> theirs;  ///< bidirectional
    LatencyFigures latency;
    Time elapsed = 0;                       ///< of a latency by time
    std::uint64_t sent = 0, delivered = 0;  ///< of messages whose receipt the server counts: SENDs
};

class Client {
public:
    /// `port` outlives the client. `number`: of the server's service. `stop` ends it.
    Client(Port& port, std::uint16_t number, const std::atomic<bool>& stop)
        : port_(port), number_(number), stop_(stop) {}

    /// Connects to the server; `spec.mtu` becomes what both ends and the path have.
    Result<void> connect(const wire::Gid& server, TestSpec spec);
    const TestSpec& spec() const { return pairs_->spec(); }
    std::uint32_t mtu() const { return mtu_; }
    unsigned gid_index() const { return server_.gid_index; }

    /// EIO: a message failed, or what came is not what was sent. ETIMEDOUT: the server says nothing.
    Result<RoundResult> run(const Round& round);
    /// Lets the server end. Waits a moment for its answer.
    void bye();

private:
    Result<Message> ask(MessageKind kind, const Payload& payload, std::uint32_t modifier = 0,
                        Traffic* traffic = nullptr);
    Result<void> exchange_pairs();
    Result<void> move_data(Traffic& traffic);
    Result<Account> settle(Traffic& traffic);
    Result<void> await_rest(Traffic& traffic, const Account& server);
    Result<void> check(const Traffic& traffic, const Account& server) const;
    RoundResult result(Traffic& traffic, const Account& server) const;

    Port& port_;
    const std::uint16_t number_;
    const std::atomic<bool>& stop_;
    std::unique_ptr<Channel> channel_;
    rdma::Path server_;
    PeerMemory server_memory_;
    std::uint32_t mtu_ = 0;
    std::unique_ptr<Pairs> pairs_;
};

}  // namespace verbline::rdma_bench
