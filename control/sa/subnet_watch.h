// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// Detects that the subnet manager has lost our state although no event reported it: not every port gets a client
/// reregister (simulated ones do not), and an event can be missed.
///
/// Twice a second it refreshes the port and queries the SA for our membership of one group, round robin; without
/// groups, whether it answers at all. One MAD per period, never retransmitted: cheap in normal operation, and no flood
/// while the SM is away.
///
///     record               normal; after a silence: the SM is back, and may have lost state          ──> lost
///     refusal              membership lost                                                           ──> lost
///     no answer, twice     silent
///
/// Owned by the control thread; lifetime as its client's.

#include <functional>
#include <optional>

#include "control/loop/loop.h"
#include "control/sa/client.h"
#include "control/sa/groups.h"

namespace verbline::sa {

class SubnetWatch {
public:
    static constexpr Time period = 500 * millisecond;

    SubnetWatch(Client& client, const Groups& groups, control::Loop& loop, std::function<void()> lost);
    SubnetWatch(const SubnetWatch&) = delete;
    SubnetWatch& operator=(const SubnetWatch&) = delete;

    /// Another subnet manager has taken over, which is known to have lost our state: silence so far was its
    /// predecessor's.
    void expect_another() { silences_ = 0; }

    /// False once two queries in a row have not been answered, until one is.
    bool answering() const { return answering_; }

private:
    void look();
    void judge(const Failure* failure);
    void report_loss();

    Client& client_;
    const Groups& groups_;
    control::Loop& loop_;
    std::function<void()> lost_;
    std::optional<wire::Gid> last_group_;
    bool asking_ = false;
    bool answering_ = true;
    unsigned silences_ = 0;
    Time quiet_until_ = 0;  ///< report no loss before: an SA that answers joins but not queries must not cause a storm
    Time quiet_ = 0;
    control::Timer timer_;
};

}  // namespace verbline::sa
