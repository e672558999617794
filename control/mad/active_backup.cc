// SPDX-License-Identifier: BSD-3-Clause
#include "control/mad/active_backup.h"

#include <utility>

namespace verbline::mad {

ActiveBackupTransport::ActiveBackupTransport(Members members) : members_(std::move(members)) {
    for (unsigned i = 0; i < members_.size(); ++i) {
        members_[i]->listen([this, i](PortEvent event) { follow(i, event); });
        // Late answers, to what was asked by the other port before, are nobody's.
        members_[i]->relay([this, i](Time now, const MadAddress& from, MadBytes mad, std::size_t length) {
            if (i == active_) deliver(now, from, mad, length);
        });
        members_[i]->capture(
            [this](Direction direction, Time time, MadBytes mad, const MadAddress& far, const PortFacts&) {
                if (direction == Direction::sent) sent(time, far, mad);
            });
    }
    observe(members_[active_]->port());
}

ActiveBackupTransport::~ActiveBackupTransport() {
    for (const auto& member : members_) {
        member->listen({});
        member->relay({});
        member->capture({});
    }
}

bool ActiveBackupTransport::usable(unsigned member) const {
    const auto& port = members_[member]->port();
    return port.active() && port.lid != wire::Lid{};
}

/// In one subnet nothing but the port's own addresses differs; the rest is raised where the subnets differ.
void ActiveBackupTransport::select(unsigned member) {
    if (std::exchange(active_, member) == member) return;
    observe(members_[active_]->port());
    raise(PortEvent::client_reregister);
}

void ActiveBackupTransport::refresh() {
    for (const auto& member : members_) member->refresh();
}

/// What `observe` finds itself is not said twice.
void ActiveBackupTransport::follow(unsigned member, PortEvent event) {
    changed_();
    if (member != active_) return;
    if (members_[member]->port() != port()) {
        observe(members_[member]->port());
    } else if (event == PortEvent::client_reregister) {
        raise(event);
    }
}

/// What the members' ports have counted, and of what they received what nobody here wanted.
void ActiveBackupTransport::counters(const CounterVisitor& visit) const {
    CounterSums sums;
    for (const auto& member : members_) member->counters(sums.add());
    const auto add = sums.add();
    add("rx_dropped_bad_version", counters_.rx_dropped_bad_version.value(), "");
    add("rx_dropped_no_receiver", counters_.rx_dropped_no_receiver.value(), "");
    sums.each(visit);
}

}  // namespace verbline::mad
