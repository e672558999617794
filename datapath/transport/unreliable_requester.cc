// SPDX-License-Identifier: BSD-3-Clause
#include "datapath/transport/unreliable_requester.h"

#include <utility>

#include "datapath/transport/local_operation.h"
#include "datapath/transport/request_writer.h"
#include "datapath/transport/send_completion.h"

namespace verbline::transport {

void UnreliableRequester::start(wire::Psn first) noexcept {
    next_ = first;
    packet_ = 0;
}

Status UnreliableRequester::permitted(const SendWork& work) const noexcept {
    using enum SendOperation;
    const bool sends = work.operation == send || work.operation == send_with_immediate;
    if (qp_.service == Service::ud) {
        if (!sends || work.envelope == nullptr) return Status::local_queue_pair_error;
        return work.length > qp_.mtu() ? Status::local_length_error : Status::success;
    }
    const bool writes = work.operation == write || work.operation == write_with_immediate;
    return sends || writes || work.is_local() ? Status::success : Status::local_queue_pair_error;
}

unsigned UnreliableRequester::transmit(PollContext& context, unsigned budget) noexcept {
    unsigned sent = 0;
    auto& queue = qp_.send_queue;
    const auto posted = queue.posted();
    while (sent < budget && !failed_ && queue.oldest() != posted) {
        auto& work = queue.at(queue.oldest());
        if (packet_ == 0) {
            if (draining_) break;
            work.status = permitted(work);
            if (work.status == Status::success && work.is_local()) {
                work.status = execute_local(work, qp_, context.keys);
                finish(work, context, work.status);
                continue;
            }
            work.packets = packets_of(work, qp_);
        }
        if (work.status == Status::success) {
            const RequestPacket packet{.index = packet_, .psn = next_};
            const auto written = write_request(qp_, work, packet, context, work.status);
            if (written == Written::no_room) break;
        }
        if (work.status != Status::success) {
            finish(work, context, work.status);
            break;
        }
        ++sent;
        next_ = next_ + 1;
        if (++packet_ == work.packets) finish(work, context, Status::success);
    }
    return sent;
}

void UnreliableRequester::finish(const SendWork& work, PollContext& context, Status status) noexcept {
    packet_ = 0;
    if (status != Status::success) failed_ = true;
    if (status != Status::success && status != Status::flushed) context.counters.req_local_errors.add();
    complete_send(qp_, work, context, status);
    qp_.send_queue.retire();
}

void UnreliableRequester::flush(PollContext& context) noexcept {
    while (busy()) finish(qp_.send_queue.at(qp_.send_queue.oldest()), context, Status::flushed);
    failed_ = true;
}

}  // namespace verbline::transport
