// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// Finds out that the subnet manager has forgotten us where no event says so: not every port is told by a client
/// reregister (simulated ones are not), and an event can be missed.
///
/// Twice a second, the port is looked at, and the SA is asked whether it still has us in one of our groups, each in
/// turn; with no group held, whether it is there at all. One MAD per period, repeated never: cheap while all is well,
/// and no flood while the SM is away.
///
///     record               all is well; after a silence: the SM came back, and may have forgotten    ──> lost
///     refusal              forgotten                                                                 ──> lost
///     no answer, twice     silent
///
/// Owned by the control thread; goes away with its client.

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

    /// Whether the SA answered when last asked.
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
    bool answering_ = false;
    unsigned silences_ = 0;
    Time quiet_until_ =
        0;  ///< report no loss before: an SA that answers joins but not questions must not cause a storm
    Time quiet_ = 0;
    control::Timer timer_;
};

}  // namespace verbline::sa
