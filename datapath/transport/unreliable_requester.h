// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// The requester of UC and UD: a request completes once it is sent (IBTA volume 1, 9.8). A request that fails locally
/// stops only the send queue (SQE).

#include "datapath/transport/poll_context.h"
#include "datapath/transport/queue_pair_context.h"

namespace verbline::transport {

class UnreliableRequester {
public:
    explicit UnreliableRequester(QueuePairContext& qp) : qp_(qp) {}

    void start(wire::Psn first) noexcept;
    unsigned transmit(PollContext& context, unsigned budget) noexcept;
    bool failed() const { return failed_; }
    void flush(PollContext& context) noexcept;
    void stop() noexcept { failed_ = true; }
    /// Resumes the send queue after an error (SQE to RTS).
    void resume() noexcept { failed_ = false; }
    void drain(bool on) noexcept { draining_ = on; }
    bool drained() const noexcept { return packet_ == 0; }
    bool busy() const noexcept { return qp_.send_queue.oldest() != qp_.send_queue.posted(); }

private:
    Status permitted(const SendWork& work) const noexcept;
    void finish(const SendWork& work, PollContext& context, Status status) noexcept;

    QueuePairContext& qp_;
    wire::Psn next_;
    std::uint32_t packet_ = 0;  ///< next packet of the oldest request
    bool failed_ = false, draining_ = false;
};

}  // namespace verbline::transport
