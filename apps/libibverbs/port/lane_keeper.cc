// SPDX-License-Identifier: BSD-3-Clause
#include "apps/libibverbs/port/lane_keeper.h"

#include <cerrno>
#include <utility>

#include <poll.h>

#include <fmt/format.h>

#include "apps/libibverbs/port/process.h"

namespace verbline::verbs {
namespace {

constexpr Time attempt_interval = 250 * millisecond;

}  // namespace

LaneKeeper::News LaneKeeper::look(Time now) {
    if (!link_.lane.control) return News::nothing;
    if (joined_) {
        if (!has_ended()) return News::nothing;
        joined_ = false;
        next_attempt_ = now + attempt_interval;
        return News::ended;
    }
    if (now < next_attempt_) return News::nothing;
    next_attempt_ = now + attempt_interval;
    {
        const std::unique_lock lock(hub_mutex_, std::try_to_lock);
        if (!lock) return News::nothing;
        if (const auto done = rejoin(); !done) {
            complain_once(done.error());
            return News::nothing;
        }
        broker_.restart();
    }
    if (link_.direct != nullptr) link_.direct->restart();
    joined_ = true;
    complaint_.clear();
    return News::returned;
}

bool LaneKeeper::has_ended() const {
    pollfd control{link_.lane.control.get(), POLLRDHUP, 0};
    return ::poll(&control, 1, 0) == 1 && (control.revents & (POLLRDHUP | POLLHUP | POLLERR)) != 0;
}

Result<void> LaneKeeper::rejoin() {
    auto lane = link_.rejoin(link_.lane);
    if (!lane) return std::unexpected(lane.error());
    const auto& before = link_.lane;
    // On a soft fabric the MAC address follows from the LID, and the port will be told that.
    const bool other_address = !link_.infiniband() && lane->mac != before.mac;
    if (other_address || lane->member != before.member || lane->mtu != before.mtu) {
        return failure(EADDRNOTAVAIL, fmt::format("{}: has returned as another, with another MAC address or MTU; start "
                                                  "the program again",
                                                  link_.text));
    }
    link_.lane = std::move(*lane);
    xrc_.forget();
    link_.lane_device->move_to(link_.lane.memif_socket);
    // What the hub refuses now is lost to the program, whose lane works without it.
    if (const auto restored = groups_.restore(); !restored) complain_once(restored.error());
    if (const auto restored = ports_.restore(); !restored) complain_once(restored.error());
    subnet_.restore();
    return {};
}

/// That no hub of the name runs is what is waited for.
void LaneKeeper::complain_once(const Error& error) {
    if (error.code == ENOENT || error.what == complaint_) return;
    complaint_ = error.what;
    complain(error);
}

}  // namespace verbline::verbs
