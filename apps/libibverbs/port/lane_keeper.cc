// SPDX-License-Identifier: BSD-3-Clause
#include "apps/libibverbs/port/lane_keeper.h"

#include <cerrno>
#include <utility>

#include <poll.h>
#include <sys/socket.h>

#include <fmt/format.h>

#include "apps/libibverbs/port/process.h"

namespace verbline::verbs {
namespace {

constexpr Time attempt_interval = 250 * millisecond, move_interval = 50 * millisecond;
constexpr Time move_limit = 10 * second;  ///< for another port to give up the LID that is ours now

}  // namespace

LaneKeeper::News LaneKeeper::look(Time now) {
    if (!link_.lane.control) return News::nothing;
    leave_to_move(now);
    if (joined_) {
        if (!has_ended()) return News::nothing;
        joined_ = false;
        link_.lane_device->move_to({});  // the path may be another program's lane's next
        next_attempt_ = now + attempt_interval;
        return News::ended;
    }
    if (now < next_attempt_) return News::nothing;
    next_attempt_ = now + (left_ ? move_interval : attempt_interval);
    {
        const std::unique_lock lock(hub_mutex_, std::try_to_lock);
        if (!lock) return News::nothing;
        if (const auto done = rejoin(); !done) {
            if (left_ && done.error().code == ENOENT) {
                left_ = false;
                moved();
                return News::ended;
            }
            if (!is_awaited(done.error(), now)) complain_once(done.error());
            return News::nothing;
        }
        broker_.restart();
    }
    if (link_.direct != nullptr) link_.direct->restart();
    joined_ = true;
    complaint_.clear();
    return std::exchange(left_, false) ? News::nothing : News::returned;
}

void LaneKeeper::move(const wire::MacAddress& mac) {
    const std::scoped_lock lock(move_mutex_);
    move_to_ = mac;
    moving_.store(true, std::memory_order_relaxed);
}

/// Hangs up: with the connection the hub has the lane's addresses back. A lane whose hub has ended joins with the new
/// address when that has returned.
void LaneKeeper::leave_to_move(Time now) {
    const std::scoped_lock lock(move_mutex_);
    if (!move_to_) return;
    const std::unique_lock hub(hub_mutex_, std::try_to_lock);
    if (!hub) return;
    link_.lane.mac = *std::exchange(move_to_, std::nullopt);
    if (!joined_ && !left_) return moved();
    std::ignore = ::shutdown(link_.lane.control.get(), SHUT_RDWR);
    link_.lane_device->move_to({});
    joined_ = false;
    left_ = true;
    next_attempt_ = now;
    patient_until_ = now + move_limit;
}

/// Another port has the LID still, or the hub has not noticed yet that we have left.
bool LaneKeeper::is_awaited(const Error& error, Time now) const {
    return left_ && error.code == EADDRINUSE && now < patient_until_;
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
