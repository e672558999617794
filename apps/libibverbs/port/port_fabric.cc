// SPDX-License-Identifier: BSD-3-Clause
// What the subnet manager gives a port of a soft fabric, and takes away.
#include <mutex>
#include <utility>

#include "apps/libibverbs/port/port.h"
#include "datapath/link/soft_ib.h"

namespace verbline::verbs {

mad::PortFacts VerbsPort::fabric() const {
    const std::scoped_lock lock(fabric_mutex_);
    return fabric_;
}

/// A node that has been restarted counts anew; its programs have been told that the device was gone.
void VerbsPort::follow_node(const hub::SubnetPort& now) {
    set_fabric(now.facts);
    if (now.reregistrations > std::exchange(reregistrations_, now.reregistrations)) reregister();
}

/// While the port has no LID programs keep the last one.
void VerbsPort::set_fabric(mad::PortFacts now) {
    if (now.lid == wire::Lid{}) return;
    if (now.pkeys.empty()) now.pkeys = {wire::PKey{0xffff}};
    std::vector<mad::PortEvent> events;
    {
        const std::scoped_lock lock(fabric_mutex_);
        now.qpn = fabric_.qpn;  // of who is attached to the simulator just now
        if (now == fabric_) return;
        events = mad::changes(fabric_, now);
        fabric_ = now;
    }
    for (const auto event : events) {
        using enum transport::AsyncEventKind;
        if (event == mad::PortEvent::lid_change) {
            follow_lid(now.lid);
            dispatch({.kind = lid_change});
        }
        if (event == mad::PortEvent::gid_change) set_addresses({{now.gid(), 64}});
        if (event == mad::PortEvent::pkey_change) {
            follow_pkeys(now.pkeys);
            dispatch({.kind = pkey_change});
        }
        if (event == mad::PortEvent::sm_change) dispatch({.kind = sm_change});
    }
    write_sysfs();
    tell_of_change();
}

/// The MAC address that packets are delivered by follows from the LID: a lane of the program's own has to have it.
void VerbsPort::follow_lid(wire::Lid lid) {
    device_->set_lid(lid);
    if (!link_.lane.member) lane_keeper_.move(link::soft_ib::mac_of(lid));
}

/// Before programs are told: what they send then is in the new partitions.
void VerbsPort::follow_pkeys(const std::vector<wire::PKey>& pkeys) {
    device_->set_pkeys(pkeys);
    const std::scoped_lock lock(gsi_mutex_);
    if (gsi_ != nullptr) gsi_->set_pkeys(pkeys);
}

}  // namespace verbline::verbs
