// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// The responder of a UD queue pair: each packet that has passed ud_check.h is a message, delivered behind 40 bytes for
/// the GRH or IP header (IBTA volume 1, 9.8.3 and 11.4.1.2).

#include "datapath/transport/packet.h"
#include "datapath/transport/poll_context.h"
#include "datapath/transport/queue_pair_context.h"

namespace verbline::transport {

class UdResponder {
public:
    explicit UdResponder(QueuePairContext& qp) : qp_(qp) {}

    void receive(const Packet& packet, PollContext& context) noexcept;
    bool failed() const { return failed_; }
    void flush(PollContext& context) noexcept;
    void stop() noexcept { failed_ = true; }

private:
    QueuePairContext& qp_;
    bool failed_ = false;
};

}  // namespace verbline::transport
