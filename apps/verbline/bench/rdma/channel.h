// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// Requests and responses between the ends of a test (messages.h), over QP1 of the port. Used by the thread that polls
/// the port.

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "apps/verbline/bench/rdma/messages.h"
#include "apps/verbline/bench/rdma/port.h"
#include "control/mad/gsi.h"

namespace verbline::rdma_bench {

/// A request or a response.
struct Message {
    MessageKind kind{};
    std::uint32_t modifier = 0;
    wire::MadStatus status{};
    Payload payload{};
};

class Channel {
public:
    static Result<std::unique_ptr<Channel>> create(Port& port);

    /// Client: sends a request again and again until its response comes, and calls `work` meanwhile, which may fail.
    /// ETIMEDOUT: silence for too long. ECANCELED: `work` said so.
    using Work = std::function<Result<void>(Time now)>;
    Result<Message> ask(const mad::GmpPeer& server, const Message& request, const Work& work);
    /// Client: a request without a response.
    void notify(const mad::GmpPeer& server, const Message& request) { send(server, request, next_transaction()); }

    /// Server: `answer` is called by `serve` for each request; what it returns is sent back.
    using Answer = std::function<std::optional<Message>(const mad::GmpPeer& from, const Message& request)>;
    void serve(const Answer& answer);
    /// Requests have come since the last `serve`.
    bool pending() const { return arrived_; }

    /// How long an end waits for the other.
    static constexpr Time patience = 10 * second;

private:
    explicit Channel(Port& port) : port_(port) {}
    std::uint64_t next_transaction() { return ++transaction_; }
    void send(const mad::GmpPeer& to, const Message& message, std::uint64_t transaction,
              wire::MadMethod method = wire::MadMethod::set);

    Port& port_;
    bool arrived_ = false;
    std::uint64_t transaction_ = 0;
    std::unique_ptr<mad::Gsi> gsi_;
};

}  // namespace verbline::rdma_bench
