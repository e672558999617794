// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// Counters of a connection manager. Any thread may count; counters are striped so that threads do not share a cache
/// line.

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "datapath/wire/cm.h"
#include "pmd/base/counter.h"

namespace verbline::cm {

// The first eleven of each direction are in the order of wire::CmAttribute.
#define VERBLINE_CM_COUNTERS(X)                                                                        \
    X(tx_req, "REQ sent: connection requests; retransmissions count, as in all tx counters")           \
    X(tx_mra, "MRA sent: we need more time")                                                           \
    X(tx_rej, "REJ sent: connections refused")                                                         \
    X(tx_rep, "REP sent: connections taken")                                                           \
    X(tx_rtu, "RTU sent: connections ready to use")                                                    \
    X(tx_dreq, "DREQ sent: connections to be ended")                                                   \
    X(tx_drep, "DREP sent: replies to DREQ")                                                           \
    X(tx_sidr_req, "SIDR_REQ sent: service id resolutions")                                            \
    X(tx_sidr_rep, "SIDR_REP sent: datagram services answered")                                        \
    X(tx_lap, "LAP sent: alternate paths proposed")                                                    \
    X(tx_apr, "APR sent: alternate paths answered")                                                    \
    X(rx_req, "REQ received")                                                                          \
    X(rx_mra, "MRA received: the peer needs more time")                                                \
    X(rx_rej, "REJ received: the peer refuses")                                                        \
    X(rx_rep, "REP received")                                                                          \
    X(rx_rtu, "RTU received")                                                                          \
    X(rx_dreq, "DREQ received")                                                                        \
    X(rx_drep, "DREP received")                                                                        \
    X(rx_sidr_req, "SIDR_REQ received")                                                                \
    X(rx_sidr_rep, "SIDR_REP received")                                                                \
    X(rx_lap, "LAP received")                                                                          \
    X(rx_apr, "APR received")                                                                          \
    X(retries_req, "REQ repeated because nothing came in time")                                        \
    X(retries_rep, "REP repeated because nothing came in time")                                        \
    X(retries_dreq, "DREQ repeated because nothing came in time")                                      \
    X(retries_lap, "LAP repeated because nothing came in time")                                        \
    X(retries_sidr_req, "SIDR_REQ repeated because nothing came in time")                              \
    X(timeouts_req, "connects failed after the last retransmission")                                   \
    X(timeouts_rep, "accepted connections failed because no RTU came")                                 \
    X(timeouts_dreq, "connections closed though the peer never answered DREQ")                         \
    X(timeouts_lap, "alternate paths failed after the last retransmission")                            \
    X(timeouts_sidr_req, "service id resolutions failed after the last retransmission")                \
    X(redirects, "requests sent to another port because the peer redirected them")                     \
    X(peer_to_peer_matches, "connections made of a REQ from each side")                                \
    X(rx_early, "requests that came between a program's bind and listen: they wait for the listener")  \
    X(rejected_unknown_service, "requests rejected because no endpoint listens on the service id")     \
    X(rejected_stale, "requests refused because their queue pair is connected in our books")           \
    X(rejected_invalid, "requests refused because we cannot carry them: transport, MTU, GID")          \
    X(rejected_half_open, "requests refused because too many are half open, of their port or of all")  \
    X(rejected_class_version, "requests refused because they are of another version of the class")     \
    X(rejected_unknown_id, "replies refused because the connection they belong to is not known")       \
    X(rx_duplicate_req, "REQ received again")                                                          \
    X(rx_duplicate_rep, "REP received again")                                                          \
    X(rx_duplicate_dreq, "DREQ received again")                                                        \
    X(rx_duplicate_sidr_req, "SIDR_REQ received again")                                                \
    X(rx_duplicate_lap, "LAP received again")                                                          \
    X(rx_times_cut, "messages whose timeouts exceed our limit and were clamped")                       \
    X(closings_cut_short, "closing connections dropped at once because too many were closing")         \
    X(rx_dropped_malformed, "MADs that are no message of the connection manager")                      \
    X(rx_dropped_class_version, "MADs of another version of the class")                                \
    X(rx_dropped_unknown_id, "messages of a connection that is not known")                             \
    X(rx_dropped_elsewhere, "requests left to another program that has our address and the service")   \
    X(rx_dropped_mismatched, "messages whose ids, queue pair or transaction are not those expected")   \
    X(rx_dropped_stranger, "messages with the ids of a connection from a port that is not its peer's") \
    X(rx_dropped_unexpected, "messages that are late or make no sense in the connection's state")      \
    X(rx_dropped_inbox_full, "messages dropped because an endpoint is not polled")                     \
    X(rx_dropped_backlog_full, "requests dropped because a listener is not polled")
VERBLINE_COUNTER_ENUM(Count, VERBLINE_CM_COUNTERS)

/// Position of a message type in the tx and rx parts of the list above.
constexpr std::size_t message_index(wire::CmAttribute attribute) {
    return static_cast<std::size_t>(attribute) - static_cast<std::size_t>(wire::CmAttribute::req);
}
constexpr Count sent(wire::CmAttribute attribute) {
    return static_cast<Count>(message_index(attribute));
}
constexpr Count received(wire::CmAttribute attribute) {
    return static_cast<Count>(message_index(attribute) + static_cast<std::size_t>(Count::rx_req));
}

class CmCounters {
public:
    static constexpr std::size_t stripes = 16;

    /// Any thread; `hint` chooses the stripe.
    void add(Count count, std::size_t hint) {
        stripes_[hint % stripes].values[static_cast<std::size_t>(count)].fetch_add(1, std::memory_order_relaxed);
    }
    std::uint64_t value(Count count) const {
        std::uint64_t sum = 0;
        for (const auto& stripe : stripes_) {
            sum += stripe.values[static_cast<std::size_t>(count)].load(std::memory_order_relaxed);
        }
        return sum;
    }
    void each(const CounterVisitor& visit) const {
        for (std::size_t i = 0; i < texts.size(); ++i)
            visit(texts[i].name, value(static_cast<Count>(i)), texts[i].help);
    }

private:
    static constexpr auto texts = counter_texts(Count{});
    struct alignas(64) Stripe {
        std::array<std::atomic<std::uint64_t>, texts.size()> values{};
    };
    std::array<Stripe, stripes> stripes_;
};

}  // namespace verbline::cm
