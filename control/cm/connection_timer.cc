// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>

#include "control/cm/connection.h"

// Timeouts: retransmission, giving up, the end of TIMEWAIT.

namespace verbline::cm {

void Connection::tick(Time now, ActionSink& sink) {
    using enum ConnectionState;
    if (deadline_ == 0 || now < deadline_) return;
    switch (state_) {
        case req_sent:
        case mra_req_received:
            if (!repeat(Count::retries_req, now, sink)) give_up(now, sink);
            return;
        case rep_sent:
        case mra_rep_received:
            if (!repeat(Count::retries_rep, now, sink)) give_up(now, sink);
            return;
        case dreq_sent: {
            if (repeat(Count::retries_dreq, now, sink)) return;
            sink.count(Count::timeouts_dreq);
            const bool reported = silent_;
            enter_timewait(now, !silent_);
            if (!reported) sink.emit(Disconnected{.timed_out = true});
            return;
        }
        case timewait:
            end_wait();
            enter(idle, now);
            if (!silent_) sink.emit(TimewaitExited{});
            return;
        case established:
            // Our APR needs no longer be kept, or no APR has come.
            if (alternate_ == Alternate::answered) return alternate_over();
            if (repeat(Count::retries_lap, now, sink)) return;
            sink.count(Count::timeouts_lap);
            alternate_over();
            return sink.emit(Unanswered{Unanswered::What::alternate_path});
        default: deadline_ = 0;
    }
}

/// Retransmits the last message; false: no retries are left. Ends a peer's MRA, which may be sent again.
bool Connection::repeat(Count counter, Time now, ActionSink& sink) {
    if (retries_ >= max_retries_) return false;
    ++retries_;
    if (state_ == ConnectionState::mra_req_received) enter(ConnectionState::req_sent, now);
    if (state_ == ConnectionState::mra_rep_received) enter(ConnectionState::rep_sent, now);
    if (alternate_ == Alternate::delayed) alternate_ = Alternate::sent;
    deadline_ = now + patience();
    sink.count(counter);
    post_kept(sink);
    return true;
}

/// Sends REJ (reason 4, timeout) in case the peer is still alive.
void Connection::give_up(Time now, ActionSink& sink) {
    const auto what = active_ ? Unanswered::What::request : Unanswered::What::reply;
    sink.count(active_ ? Count::timeouts_req : Count::timeouts_rep);
    post(timeout_rejection(), sink);
    end_wait();
    enter(ConnectionState::idle, now);
    sink.emit(Unanswered{what});
}

}  // namespace verbline::cm
