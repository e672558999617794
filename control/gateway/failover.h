// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// Keeps an IPoIB port that has a backup on the one of the two that works.
///
///     link of each device ──┐
///                           ├──> FailoverChoice ──> ActiveBackup (packets), ActiveBackupTransport (MADs)
///     port state of each ───┘                                    └──> another LID and GID: groups are joined, paths
///                                                                     asked for, our addresses announced
///
/// All on the control thread.

#include <array>
#include <cstdint>
#include <functional>
#include <utility>

#include "control/gateway/announcements.h"
#include "control/loop/loop.h"
#include "control/mad/active_backup.h"
#include "pmd/active_backup/active_backup.h"
#include "pmd/base/time.h"

namespace verbline::gateway {

/// Pure. The first is preferred: it is taken again once it has worked for a while, since links that come back often go
/// again.
class FailoverChoice {
public:
    static constexpr Time start_limit = 5 * second;    ///< that the first has to come up before the backup is taken
    static constexpr Time return_after = 10 * second;  ///< of work without interruption

    explicit FailoverChoice(Time now) : began_(now) {}

    /// Which to use. `works`: has a link, and the subnet manager has brought its port up.
    unsigned look(std::array<bool, 2> works, Time now);

private:
    const Time began_;
    bool ever_ = false;  ///< one that was active has worked
    unsigned active_ = 0;
    Time first_since_ = 0;  ///< that it works; 0: it does not
};

class Failover {
public:
    /// Device and transport outlive it. `announce` is called again and again after each change, whose other address is
    /// the first announcement.
    Failover(control::Loop& loop, pmd::ActiveBackup& device, mad::ActiveBackupTransport& transport,
             std::function<void()> announce);
    ~Failover() {
        transport_.on_change([] {});
    }
    Failover(const Failover&) = delete;
    Failover& operator=(const Failover&) = delete;

    /// Call after each `link_up` of the device.
    void look();
    unsigned active() const { return device_.active(); }

private:
    control::Loop& loop_;
    pmd::ActiveBackup& device_;
    mad::ActiveBackupTransport& transport_;
    Announcements announcements_;
    FailoverChoice choice_;
};

}  // namespace verbline::gateway
