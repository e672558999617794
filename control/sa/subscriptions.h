// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// Our subscriptions to the SA's traps: ports in and out of service, multicast groups created and deleted. The SA loses
/// them when it restarts; `renew` subscribes again and retries until the SA has agreed.
///
/// Owned by the control thread; lifetime as its client's.

#include <array>
#include <cstdint>

#include "control/loop/loop.h"
#include "control/sa/client.h"
#include "datapath/wire/notice.h"

namespace verbline::sa {

class Subscriptions {
public:
    static constexpr std::array traps{wire::Trap::gid_in_service, wire::Trap::gid_out_of_service,
                                      wire::Trap::multicast_created, wire::Trap::multicast_deleted};

    Subscriptions(Client& client, control::Loop& loop) : client_(client), loop_(loop) {}
    Subscriptions(const Subscriptions&) = delete;
    Subscriptions& operator=(const Subscriptions&) = delete;

    void renew();
    /// How many of `traps` the SA has agreed to since the last `renew`.
    std::size_t held() const { return held_; }

private:
    void ask(std::size_t index);

    Client& client_;
    control::Loop& loop_;
    std::uint64_t round_ = 0;  ///< answers of earlier rounds are ignored
    std::size_t held_ = 0;
    std::array<control::Timer, traps.size()> retries_;
    std::array<Time, traps.size()> back_off_{};
};

}  // namespace verbline::sa
