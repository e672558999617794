// SPDX-License-Identifier: BSD-3-Clause
#include "control/ipoib/groups.h"

#include <algorithm>
#include <utility>

#include "control/sa/address_handle.h"
#include "datapath/link/ip_gid.h"
#include "datapath/wire/ipoib.h"

namespace verbline::ipoib {
namespace {

/// User id of all joins by this class.
constexpr sa::UserId discovery{2};

}  // namespace

IpoibGroups::IpoibGroups(sa::Agent& agent, Setup setup) : agent_(agent), setup_(std::move(setup)) {}

IpoibGroups::~IpoibGroups() {
    for (const auto& [mgid, entry] : entries_) agent_.groups().leave(mgid, discovery);
}

wire::Gid mgid_of(const wire::Gid& group, wire::PKey pkey) {
    const auto ipv4 = link::ipv4_of(group);
    return ipv4 ? wire::ipoib_multicast_mgid(*ipv4, pkey) : wire::ipoib_multicast_mgid(link::ipv6_of(group), pkey);
}

std::optional<wire::Gid> group_of(const wire::Gid& mgid) {
    const wire::Bytes bytes(mgid.bytes);
    const auto signature = wire::load16(bytes, 2);
    if (bytes[0] != std::byte{0xff}) return std::nullopt;
    if (signature == wire::ipoib_ipv4_signature) {
        constexpr std::uint32_t broadcast = 0xffff'ffff, class_d = 0xe000'0000, rest = 0x0fff'ffff;
        const auto low = wire::load32(bytes, 12);
        return link::gid_of(wire::Ipv4Address{low == broadcast ? broadcast : class_d | (low & rest)});
    }
    if (signature != wire::ipoib_ipv6_signature) return std::nullopt;
    wire::Ipv6Address group;
    group.bytes[0] = std::byte{0xff}, group.bytes[1] = std::byte{wire::link_local_scope};
    std::ranges::copy(bytes.subspan(6), group.bytes.begin() + 6);
    return link::gid_of(group);
}

void IpoibGroups::listen(const wire::Gid& group) {
    const auto mgid = mgid_of(group);
    entries_[mgid].listens = true;
    join(mgid, wire::join_state::full_member);
}

void IpoibGroups::send(const wire::Gid& group, std::vector<std::byte> packet) {
    if (!broadcast_) return counters_.ipoib_tx_dropped_group.add();
    const auto mgid = mgid_of(group);
    auto known = entries_.find(mgid);
    const bool is_new = known == entries_.end();
    if (is_new) {
        make_room();
        known = entries_.try_emplace(mgid).first;
    }
    auto& entry = known->second;
    entry.used = ++uses_;
    if (entry.group) return setup_.send(sa::address_handle(*entry.group, mgid), packet);
    if (entry.waiting.size() >= max_waiting) return counters_.ipoib_tx_dropped_group.add();
    entry.waiting.push_back(std::move(packet));
    if (is_new) join(mgid, wire::join_state::send_only_non_member);
}

void IpoibGroups::join(const wire::Gid& mgid, wire::JoinState state) {
    sa::JoinParameters parameters{.pkey = setup_.pkey, .create_like = {}};
    if (broadcast_ && state == wire::join_state::full_member) parameters.create_like = broadcast_->group;
    agent_.groups().join(mgid, discovery, state, parameters,
                         [this, mgid](const Answer& answer) { granted(mgid, answer); });
}

void IpoibGroups::granted(const wire::Gid& mgid, const Answer& answer) {
    const auto known = entries_.find(mgid);
    if (known == entries_.end()) return;
    auto& entry = known->second;
    const auto waiting = std::exchange(entry.waiting, {});
    if (answer) {
        entry.group = *answer;
        if (entry.listens) setup_.on_joined(mgid, *answer);
        for (const auto& packet : waiting) setup_.send(sa::address_handle(*answer, mgid), packet);
        return;
    }
    counters_.ipoib_groups_refused.add();
    entries_.erase(known);  // it may be created later: the next packet queries again
    if (!broadcast_) return;
    counters_.ipoib_tx_broadcast_instead.add(waiting.size());
    for (const auto& packet : waiting) setup_.send(sa::address_handle(broadcast_->group, broadcast_->mgid), packet);
}

/// A group may be deleted with its last full member, and created again with other parameters.
void IpoibGroups::leave(const wire::Gid& group) {
    const auto known = entries_.find(mgid_of(group));
    if (known == entries_.end() || known->second.listens) return;
    agent_.groups().leave(known->first, discovery);
    entries_.erase(known);
}

/// Leaves the least recently used send-only group.
void IpoibGroups::make_room() {
    const auto sends = [](const auto& each) { return !each.second.listens; };
    if (static_cast<std::size_t>(std::ranges::count_if(entries_, sends)) < max_send_only) return;
    const auto victim = std::ranges::min_element(
        entries_, {}, [&](const auto& each) { return std::pair(each.second.listens, each.second.used); });
    counters_.ipoib_groups_left.add();
    agent_.groups().leave(victim->first, discovery);
    entries_.erase(victim);
}

}  // namespace verbline::ipoib
