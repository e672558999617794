// SPDX-License-Identifier: BSD-3-Clause
#include "control/cm/connection.h"

// LAP and APR: alternate path of an established connection (12.8). The active side proposes, the passive one answers.

namespace verbline::cm {

namespace {

/// Fowler, Noll and Vo's, 64 bits.
std::uint64_t digest(const wire::CmLap& lap) {
    std::array<std::byte, wire::CmLap::size> bytes{};
    lap.emit(bytes);
    std::uint64_t hash = 0xcbf2'9ce4'8422'2325;
    for (const auto byte : bytes) hash = (hash ^ static_cast<std::uint64_t>(byte)) * 0x100'0000'01b3;
    return hash;
}

}  // namespace

Result<void> Connection::load_alternate(const ConnectionPath& path, const PrivateData& private_data, Time now,
                                        ActionSink& sink) {
    if (state_ != ConnectionState::established) return failure(EINVAL, "there is no connection to load a path for");
    if (alternate_ != Alternate::none && alternate_ != Alternate::answered) {
        return failure(EINVAL, "another alternate path is being loaded");
    }
    if (auto result = fits(private_data, sizeof(wire::CmLap{}.private_data)); !result) return result;
    alternate_ = Alternate::sent;
    alternate_port_ = {.gid = path.remote_gid, .lid = path.remote_lid};
    begin_wait(now, patience());
    keep_and_post(addressed(to_message(path, remote_qpn_, own_response_timeout_, private_data), own_transaction()),
                  sink);
    return {};
}

void Connection::alternate_over() {
    alternate_ = Alternate::none;
    end_wait();
}

void Connection::receive_lap(const wire::CmLap& lap, const ReceivedMessage& message, const mad::GmpPeer& from,
                             ActionSink& sink) {
    if (state_ != ConnectionState::established) return sink.count(Count::rx_dropped_unexpected);
    if (lap.remote_qpn != local_qpn_) return sink.count(Count::rx_dropped_mismatched);
    switch (alternate_) {
        case Alternate::sent:
        case Alternate::delayed: return sink.count(Count::rx_dropped_unexpected);
        case Alternate::received: return sink.count(Count::rx_duplicate_lap);
        case Alternate::delaying: return sink.count(Count::rx_duplicate_lap), post_kept(sink);
        case Alternate::answered:
            // Peers use one transaction id for all LAPs: only the content distinguishes a new LAP from a
            // retransmission.
            if (digest(lap) == alternate_digest_) return sink.count(Count::rx_duplicate_lap), post_kept(sink);
            break;
        case Alternate::none: break;
    }
    alternate_ = Alternate::received;
    alternate_port_ = {.gid = lap.local_gid, .lid = lap.local_lid};
    alternate_transaction_ = message.transaction();
    alternate_digest_ = digest(lap);
    end_wait();
    sink.emit(AlternateRequested{.alternate = from_message(lap, from), .private_data = to_vector(lap.private_data)});
}

Result<void> Connection::reply_alternate(const AlternateReply& reply, Time now, ActionSink& sink) {
    if (state_ != ConnectionState::established ||
        (alternate_ != Alternate::received && alternate_ != Alternate::delaying)) {
        return failure(EINVAL, "there is no alternate path to answer");
    }
    if (auto result = fits(reply); !result) return result;
    alternate_ = Alternate::answered;
    begin_wait(now, 2 * patience());  // while the LAP may be retransmitted
    keep_and_post(addressed(to_message(reply), alternate_transaction_), sink);
    return {};
}

void Connection::receive_apr(const wire::CmApr& apr, ActionSink& sink) {
    if (state_ != ConnectionState::established || (alternate_ != Alternate::sent && alternate_ != Alternate::delayed)) {
        return sink.count(Count::rx_dropped_unexpected);
    }
    alternate_over();
    sink.emit(AlternateReplied{from_message(apr)});
}

}  // namespace verbline::cm
