// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// What the state machines of one endpoint do to the world. Given with each call, never kept.

#include "control/cm/counters.h"
#include "control/cm/event.h"
#include "control/cm/remote_end.h"
#include "control/mad/gmp.h"

namespace verbline::cm {

class Context {
public:
    virtual void send(const mad::GmpPeer& to, const mad::MadBuffer& mad) = 0;
    /// The user hears of it, in this order.
    virtual void tell(Event event) = 0;
    virtual void count(Count count) = 0;
    /// The remote queue pair is now this endpoint's. False: it is another's that is open, which now closes; ours is to
    /// be refused as stale.
    virtual bool claim(const RemoteEnd& queue_pair) = 0;

protected:
    ~Context() = default;
};

}  // namespace verbline::cm
