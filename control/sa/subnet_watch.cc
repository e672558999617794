// SPDX-License-Identifier: BSD-3-Clause
#include "control/sa/subnet_watch.h"

#include <algorithm>
#include <utility>

namespace verbline::sa {

namespace {
constexpr Time first_quiet = second, longest_quiet = 16 * second;
constexpr unsigned silences_that_count = 2;  // a single MAD may be lost
}  // namespace

SubnetWatch::SubnetWatch(Client& client, const Groups& groups, control::Loop& loop, std::function<void()> lost)
    : client_(client),
      groups_(groups),
      loop_(loop),
      lost_(std::move(lost)),
      timer_(loop.every(period, [this] { look(); })) {}

void SubnetWatch::look() {
    client_.transport().refresh();
    if (asking_) return;
    asking_ = true;
    const auto judge_any = [this](const auto& answer) {
        asking_ = false;
        judge(answer ? nullptr : &answer.error());
    };
    const auto patience = Client::once(period * 4 / 5);
    last_group_ = groups_.next_held(last_group_);
    if (!last_group_) return client_.class_port_info(judge_any, patience);
    client_.membership(wire::MadMethod::get, {.mgid = *last_group_, .port_gid = client_.transport().port().gid()},
                       wire::mcmember_component::mgid | wire::mcmember_component::port_gid, judge_any, patience);
}

void SubnetWatch::judge(const Failure* failure) {
    if (failure != nullptr && failure->reason != Failure::Reason::refused) {
        if (++silences_ >= silences_that_count) answering_ = false;
        return;
    }
    const bool returned = silences_ >= silences_that_count;
    silences_ = 0;
    answering_ = true;
    if (failure != nullptr && !passes(failure->status)) return report_loss();
    if (returned) return report_loss();
    quiet_ = 0;
}

void SubnetWatch::report_loss() {
    if (loop_.now() < quiet_until_) return;
    quiet_ = quiet_ == 0 ? first_quiet : std::min(quiet_ * 2, longest_quiet);
    quiet_until_ = loop_.now() + quiet_;
    lost_();
}

}  // namespace verbline::sa
