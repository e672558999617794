// SPDX-License-Identifier: BSD-3-Clause
#include "control/mad/transport.h"

namespace verbline::mad {

void Transport::receive(wire::MadClass management_class, Receiver receiver) {
    if (receiver) {
        receivers_.insert_or_assign(management_class, std::make_shared<Receiver>(std::move(receiver)));
    } else {
        receivers_.erase(management_class);
    }
}

void Transport::raise(PortEvent event) {
    counters_.port_events.add();
    if (listener_) listener_(event);
}

void Transport::observe(PortFacts now) {
    const auto events = changes(port_, now);
    port_ = std::move(now);
    for (const auto event : events) raise(event);
}

void Transport::deliver(Time now, const MadAddress& from, MadBytes mad, std::size_t length) {
    received_length_ = length;
    counters_.rx_mads.add();
    if (sink_) sink_(Direction::received, now, mad, from, port_);
    if (relay_) return relay_(now, from, mad, length);
    const auto prefix = wire::MadPrefix::parse(mad);
    if (!prefix) return counters_.rx_dropped_bad_version.add();
    const auto it = receivers_.find(prefix->management_class);
    if (it == receivers_.end()) return counters_.rx_dropped_no_receiver.add();
    const auto receiver = it->second;
    (*receiver)(from, mad);
}

void Transport::sent(Time now, const MadAddress& to, MadBytes mad) {
    counters_.tx_mads.add();
    if (sink_) sink_(Direction::sent, now, mad, to, port_);
}

}  // namespace verbline::mad
