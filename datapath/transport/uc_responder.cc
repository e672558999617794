// SPDX-License-Identifier: BSD-3-Clause
#include "datapath/transport/uc_responder.h"

#include "datapath/transport/flush_receives.h"

namespace verbline::transport {

void UcResponder::receive(const Packet& packet, PollContext& context) noexcept {
    if (failed_) return;
    const bool in_order = packet.psn == expected_;
    expected_ = packet.psn + 1;
    if (message_.in_progress() && (!in_order || packet.traits->first)) message_.restart();
    if (!message_.in_progress() && !packet.traits->first) return context.counters.rx_dropped_unreliable.add();
    switch (message_.accept(packet, qp_, context)) {
        case Outcome::accepted: return;
        case Outcome::no_receive: context.counters.rx_dropped_no_receive.add(); return message_.restart();
        case Outcome::local_length:
            context.counters.resp_local_length_error.add();
            failed_ = true;
            return;
        case Outcome::local_protection: failed_ = true; return;
        case Outcome::invalid_request:
        case Outcome::remote_access: context.counters.rx_dropped_unreliable.add(); return message_.restart();
    }
}

void UcResponder::flush(PollContext& context) noexcept {
    message_.abandon(qp_, context, Status::flushed);
    flush_receives(qp_, context);
    failed_ = true;
}

}  // namespace verbline::transport
