// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// Requests and responses between the ends of a test (messages.h): datagrams between two queue pairs, which find each
/// other by service.h. Used by the thread that polls the port.

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>

#include "apps/verbline/bench/rdma/messages.h"
#include "apps/verbline/bench/rdma/port.h"
#include "apps/verbline/bench/rdma/service.h"
#include "datapath/rdma/datagrams.h"

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
    /// `number`: the port number of the server's service.
    static Result<std::unique_ptr<Channel>> create(Port& port, std::uint16_t number);

    /// Client: finds the server. ETIMEDOUT: there is none. Else what `work` says.
    Result<void> connect(const rdma::Path& server, const Work& work);
    /// Client: sends a request again and again until its response comes, and calls `work` meanwhile. ETIMEDOUT: silence
    /// for too long. Else what `work` says.
    Result<Message> ask(const Message& request, const Work& work);
    /// Client: a request without a response.
    void notify(const Message& request) { send(server_, request, next_transaction()); }

    /// Server: clients find it from now on. EADDRINUSE: another program is the server of this node.
    Result<void> listen();
    /// Server: `answer` is called by `serve` for each request; what it returns is sent back.
    using Answer = std::function<std::optional<Message>(const Peer& from, const Message& request)>;
    void serve(const Answer& answer);

private:
    Channel(Port& port, std::uint16_t number) : port_(port), number_(number) {}
    using Taker = std::function<void(const Peer& from, const wire::Mad& header, const Message& message)>;
    void drain(const Taker& take);
    std::uint64_t next_transaction() { return ++transaction_; }
    void send(const Peer& to, const Message& message, std::uint64_t transaction,
              wire::MadMethod method = wire::MadMethod::set);

    Port& port_;
    const std::uint16_t number_;
    Peer server_;
    wire::QKey qkey_{};  ///< of both ends: the server's
    bool arrived_ = false;
    std::uint64_t transaction_ = 0;
    std::unique_ptr<rdma::Datagrams> datagrams_;
    std::unique_ptr<Service> service_;
};

}  // namespace verbline::rdma_bench
