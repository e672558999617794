// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// The responder of an unreliable connection: only complete messages are delivered (IBTA volume 1, 9.8.2). A PSN gap
/// drops the message it falls into; the next FIRST or ONLY starts a new one with any PSN.

#include "datapath/transport/inbound_message.h"
#include "datapath/transport/poll_context.h"
#include "datapath/transport/queue_pair_context.h"

namespace verbline::transport {

class UcResponder {
public:
    explicit UcResponder(QueuePairContext& qp) : qp_(qp) {}

    void start(wire::Psn first) noexcept { expected_ = first; }
    void receive(const Packet& packet, PollContext& context) noexcept;
    bool failed() const { return failed_; }
    void flush(PollContext& context) noexcept;
    void abandon(PollContext& context) noexcept { message_.abandon(qp_, context, Status::success); }
    void stop() noexcept { failed_ = true; }

private:
    QueuePairContext& qp_;
    InboundMessage message_;
    wire::Psn expected_;
    bool failed_ = false;
};

}  // namespace verbline::transport
