// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// How an idle shard waits: until a device has received packets or the control thread has sent a command.
///
///     polled in vain ──> arm ──> poll once more ──> wait ──> disarm ──> poll
///
/// Devices that have no receive event must be polled: while there is one, `arm` fails. Owned by the shard's thread.

#include "datapath/router/router.h"
#include "pmd/base/time.h"
#include "pmd/wakeups/wake_signal.h"
#include "pmd/wakeups/wakeups.h"

namespace verbline::router {

class IdleWait {
public:
    /// `signal` wakes the thread after a command; if null, `arm` always fails. Both must outlive the object.
    IdleWait(Ports& ports, pmd::WakeSignal* signal);

    /// Arms the receive events of all ports. False, with nothing armed, if a port has to be polled: a device cannot
    /// signal, or frames are staged, for whose room there is no event. Then it is not tried again for
    /// a while, so that it may be called for every nap.
    bool arm(Time now) noexcept;
    /// After `arm` and a last poll.
    void wait(Time longest) noexcept;
    void disarm() noexcept;

private:
    bool arm(ShardPort& port) noexcept;

    Ports& ports_;
    pmd::WakeSignal* signal_;
    pmd::Wakeups wakeups_;
    Time next_try_ = 0;
};

}  // namespace verbline::router
