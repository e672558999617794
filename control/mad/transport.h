// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// Sends and receives management datagrams on one port, and tracks the port's attributes.
///
/// A transport carries 256-byte MADs and nothing else: no retries, no matching of answers (see Transactions). It keeps
/// the port's attributes and raises events when they change, whether the backend learns of a change from asynchronous
/// hardware events, by polling a simulator or from a test that calls `raise`.
///
/// Owned and called by the control thread; receivers and the listener are called on it, from the loop or from
/// `refresh`, never from within `send`. Remove them before what they refer to is destroyed.

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <utility>

#include "control/mad/port_facts.h"
#include "datapath/wire/deth.h"
#include "datapath/wire/mad.h"
#include "datapath/wire/types.h"
#include "pmd/base/counter.h"
#include "pmd/base/error.h"
#include "pmd/base/time.h"

namespace verbline::mad {

using MadBuffer = std::array<std::byte, wire::mad_size>;
using MadBytes = std::span<const std::byte, wire::mad_size>;

/// The far end of a MAD: its destination or its source.
struct MadAddress {
    wire::Lid lid{};
    wire::Qpn qpn = gsi;
    wire::QKey qkey = wire::gsi_qkey;
    std::uint8_t sl = 0;
    std::uint16_t pkey_index = 0;
    bool operator==(const MadAddress&) const = default;
};

enum class Direction : std::uint8_t { received, sent };

/// Sees every MAD as it is sent or received. `time` is the loop's clock; `far` the other end, `port` ours.
using Sink =
    std::function<void(Direction direction, Time time, MadBytes mad, const MadAddress& far, const PortFacts& port)>;

#define VERBLINE_MAD_TRANSPORT_COUNTERS(X)                                              \
    X(tx_mads, "MADs sent")                                                             \
    X(tx_dropped_queue_full, "MADs not sent because the port accepts no more")          \
    X(tx_errors, "MADs the port refused to send")                                       \
    X(tx_undeliverable, "MADs returned as undeliverable: no subnet manager runs")       \
    X(rx_mads, "MADs received")                                                         \
    X(rx_dropped_bad_length, "datagrams received that are no MAD by their length")      \
    X(rx_dropped_bad_version, "MADs received of another base version")                  \
    X(rx_dropped_no_receiver, "MADs received of a management class without a receiver") \
    X(port_events, "changes of the port: LID, subnet manager, state, P_Keys, reregistration")
struct TransportCounters {
    VERBLINE_COUNTER_STRUCT(VERBLINE_MAD_TRANSPORT_COUNTERS)
};

class Transport {
public:
    using Receiver = std::function<void(const MadAddress& from, MadBytes mad)>;
    using Listener = std::function<void(PortEvent event)>;

    Transport() = default;
    Transport(const Transport&) = delete;
    Transport& operator=(const Transport&) = delete;
    virtual ~Transport() = default;

    /// As given on the command line: `ibsim:vl,host=H2`.
    virtual const std::string& spec() const = 0;

    /// Never blocks. A MAD that cannot be sent now is counted and dropped. `reply_within`: nanoseconds until the caller
    /// retransmits or fails; 0: no reply expected.
    virtual void send(const MadAddress& to, MadBytes mad, Time reply_within) = 0;

    /// Others, such as the kernel, may use this port too: a membership that the SA holds for the port may be theirs,
    /// even if we requested it as well.
    virtual bool shared() const { return false; }

    /// Reads the port's attributes again. Changes reach the listener, perhaps only after this call has returned.
    virtual void refresh() = 0;

    const PortFacts& port() const { return port_; }

    /// Sets the receiver of a management class; an empty one removes it.
    void receive(wire::MadClass management_class, Receiver receiver);
    /// What is received goes there, whatever its class: to who presents this transport as part of another.
    using Relay = std::function<void(Time now, const MadAddress& from, MadBytes mad, std::size_t length)>;
    void relay(Relay relay) { relay_ = std::move(relay); }
    /// Sets the listener for port events, one at a time; an empty one removes it.
    void listen(Listener listener) { listener_ = std::move(listener); }
    /// Sets the sink for captures; an empty one removes it.
    void capture(Sink sink) { sink_ = std::move(sink); }

    /// Notifies the listener. Public for external event sources and for tests.
    void raise(PortEvent event);

    /// In a receiver: how many bytes of the MAD were sent. A simulator's far ends may leave out trailing zeros.
    std::size_t received_length() const { return received_length_; }

    const TransportCounters& counters() const { return counters_; }
    virtual void counters(const CounterVisitor& visit) const { counters_.each(visit); }

protected:
    /// For backends: updates the port's attributes and raises events for changes.
    void observe(PortFacts now);
    /// For backends: a MAD was received.
    void deliver(Time now, const MadAddress& from, MadBytes mad, std::size_t length = wire::mad_size);
    /// For backends: a MAD was sent.
    void sent(Time now, const MadAddress& to, MadBytes mad);

    TransportCounters counters_;

private:
    std::size_t received_length_ = 0;
    PortFacts port_;
    std::map<wire::MadClass, std::shared_ptr<Receiver>> receivers_;  // shared: a receiver may remove itself
    Relay relay_;
    Listener listener_;
    Sink sink_;
};

}  // namespace verbline::mad
