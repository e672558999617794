// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// The queue pair that an IPoIB interface would have on a port of a soft fabric, for address resolution alone: short
/// datagrams, with the Q_Key of the broadcast group (RFC 4391, 4), in the interface's partition.
///
/// Threads: one at a time, except `arrivals` (any).

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>

#include "apps/libibverbs/port/port.h"
#include "control/sa/membership.h"
#include "datapath/rdma/datagrams.h"
#include "datapath/wire/address_handle.h"
#include "pmd/base/counter.h"
#include "pmd/base/error.h"
#include "pmd/base/event_descriptor.h"

namespace verbline::verbs {

#define VERBLINE_IPOIB_QUEUE_PAIR_COUNTERS(X)                                                  \
    X(ipoib_rx_packets, "IPoIB packets received")                                              \
    X(ipoib_rx_errors, "IPoIB packets that did not fit, longer than address resolution needs") \
    X(ipoib_tx_packets, "IPoIB packets sent")                                                  \
    X(ipoib_tx_dropped, "IPoIB packets not sent: the queue was full, or the path was invalid")
struct IpoibQueuePairCounters {
    VERBLINE_COUNTER_STRUCT(VERBLINE_IPOIB_QUEUE_PAIR_COUNTERS)
};

class IpoibQueuePair {
public:
    using Receiver = std::function<void(wire::Bytes packet)>;

    /// Until the port is in that partition nothing is sent or received.
    static Result<std::unique_ptr<IpoibQueuePair>> create(VerbsPort& port, wire::PKey pkey);
    ~IpoibQueuePair();
    IpoibQueuePair(const IpoibQueuePair&) = delete;
    IpoibQueuePair& operator=(const IpoibQueuePair&) = delete;

    wire::Qpn qpn() const { return datagrams_->pair().qpn(); }
    /// Attaches to the group, whose packets are received from now on, and sends with its Q_Key, which is the same for
    /// all groups of the link (RFC 4391, 5).
    Result<void> join(const wire::Gid& mgid, const sa::Group& group);
    void send(const wire::AddressHandle& to, wire::Qpn qpn, wire::Bytes packet);

    /// The port's P_Key table is another. Packets that have not been drained may be lost.
    Result<void> follow(std::span<const wire::PKey> pkeys);

    /// Readable while packets are pending.
    int arrivals() const { return arrivals_.get(); }
    /// Passes each pending packet to `receive`, from the IPoIB header on.
    void drain(const Receiver& receive);

    void counters(const CounterVisitor& visit) const { counters_.each(visit); }

private:
    IpoibQueuePair(VerbsPort& port, wire::PKey pkey) : port_(port), pkey_(pkey) {}
    Result<void> start();
    void leave(const wire::Gid& mgid);

    VerbsPort& port_;
    const wire::PKey pkey_;
    std::optional<std::uint16_t> pkey_index_ = 0;  ///< of the port's table; none: it is not there
    EventDescriptor arrivals_;
    std::map<wire::Gid, sa::Group> joined_;
    std::optional<wire::QKey> qkey_;
    IpoibQueuePairCounters counters_;
    std::unique_ptr<rdma::Datagrams> datagrams_;  ///< destroyed first
};

}  // namespace verbline::verbs
