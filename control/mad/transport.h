// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// How management datagrams leave one port and reach it, and what that port is: its addresses, its subnet manager.
///
/// A transport carries 256-byte MADs and nothing else: no retries, no matching of answers (Transactions does that). It
/// keeps the port's facts and says when they change; whether it learns of a change from the hardware's asynchronous
/// events, from polling a simulator or from a test that calls `raise` is nobody's business above.
///
/// Owned and called by the control thread; receivers and the listener are called on it, from the loop or from
/// `refresh`, never from within `send`. They must be taken back before what they refer to goes away.

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

/// The far end of a MAD: where it goes, or where it came from.
struct Address {
    wire::Lid lid{};
    wire::Qpn qpn = gsi;
    wire::QKey qkey = wire::gsi_qkey;
    std::uint8_t sl = 0;
    std::uint16_t pkey_index = 0;
    bool operator==(const Address&) const = default;
};

enum class Direction : std::uint8_t { received, sent };

/// Sees every MAD as it is sent or received. `time` is the loop's clock; `far` the other end, `port` ours.
using Sink =
    std::function<void(Direction direction, Time time, MadBytes mad, const Address& far, const PortFacts& port)>;

#define VERBLINE_MAD_TRANSPORT_COUNTERS(X)                                                       \
    X(tx_mads, "MADs sent")                                                                      \
    X(tx_dropped_queue_full, "MADs not sent because the port accepts no more")                   \
    X(tx_errors, "MADs the port refused to send")                                                \
    X(tx_undeliverable, "MADs that came back because nobody takes them: no subnet manager runs") \
    X(rx_mads, "MADs received")                                                                  \
    X(rx_dropped_bad_length, "datagrams received that are no MAD by their length")               \
    X(rx_dropped_bad_version, "MADs received of another base version")                           \
    X(rx_dropped_no_receiver, "MADs received of a management class that nobody here serves")     \
    X(port_events, "changes of the port: LID, subnet manager, state, P_Keys, reregistration")
struct TransportCounters {
    VERBLINE_COUNTER_STRUCT(VERBLINE_MAD_TRANSPORT_COUNTERS)
};

class Transport {
public:
    using Receiver = std::function<void(const Address& from, MadBytes mad)>;
    using Listener = std::function<void(PortEvent event)>;

    Transport() = default;
    Transport(const Transport&) = delete;
    Transport& operator=(const Transport&) = delete;
    virtual ~Transport() = default;

    /// As given on the command line: `ibsim:vl,host=H2`.
    virtual const std::string& spec() const = 0;

    /// Never blocks. A MAD that cannot be sent now is counted and lost, as on a real link. `reply_within` is how long
    /// the caller waits before it repeats the MAD or gives up; 0 if it awaits no reply.
    virtual void send(const Address& to, MadBytes mad, Time reply_within) = 0;

    /// Others, the kernel among them, may act on this port under its name: what the SA holds for the port need not be
    /// ours, even if we asked for it as well.
    virtual bool shared() const { return false; }

    /// Looks at the port again. Changes arrive at the listener, perhaps only after this call has returned.
    virtual void refresh() = 0;

    const PortFacts& port() const { return port_; }

    /// Who gets the MADs of a management class; an empty receiver ends it.
    void receive(wire::MadClass management_class, Receiver receiver);
    /// Who hears of port events; one at a time, an empty listener ends it.
    void listen(Listener listener) { listener_ = std::move(listener); }
    /// For captures; an empty sink ends it.
    void capture(Sink sink) { sink_ = std::move(sink); }

    /// Tells the listener. Public for event sources outside, and for tests.
    void raise(PortEvent event);

    const TransportCounters& counters() const { return counters_; }

protected:
    /// Backends: the port as it is seen now. Raises what changed since the last time.
    void observe(PortFacts now);
    /// Backends: a MAD came in.
    void deliver(Time now, const Address& from, MadBytes mad);
    /// Backends: a MAD went out.
    void sent(Time now, const Address& to, MadBytes mad);

    TransportCounters counters_;

private:
    PortFacts port_;
    std::map<wire::MadClass, std::shared_ptr<Receiver>> receivers_;  // shared: a receiver may take itself back
    Listener listener_;
    Sink sink_;
};

}  // namespace verbline::mad
