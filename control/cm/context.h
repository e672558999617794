// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// Output interface of an endpoint's state machine. Passed to each call, never kept.

#include "control/cm/counters.h"
#include "control/cm/event.h"
#include "control/cm/remote_end.h"
#include "control/mad/gmp.h"

namespace verbline::cm {

class Context {
public:
    virtual void send(const mad::GmpPeer& to, const mad::MadBuffer& mad) = 0;
    /// Queues an event for the user; order is kept.
    virtual void emit(Event event) = 0;
    virtual void count(Count count) = 0;
    /// Registers the remote queue pair as this endpoint's. False: another open connection has it; that one is closed,
    /// and ours is to be rejected as stale (reason 10).
    virtual bool claim(const RemoteEnd& queue_pair) = 0;

protected:
    ~Context() = default;
};

}  // namespace verbline::cm
