// SPDX-License-Identifier: BSD-3-Clause
#include "tests/sim/cm_node.h"

#include <algorithm>
#include <array>
#include <string>
#include <string_view>

namespace verbline::sim {
namespace {

std::string describe(const mad::MadBuffer& mad) {
    constexpr std::array<std::string_view, 11> names{"REQ",  "MRA",      "REJ",      "REP", "RTU", "DREQ",
                                                     "DREP", "SIDR_REQ", "SIDR_REP", "LAP", "APR"};
    const auto message = *cm::ReceivedMessage::parse(mad);
    std::string reason;
    if (message.attribute() == wire::CmAttribute::rej) {
        reason = fmt::format(" reason {}", static_cast<int>(message.as<wire::CmRej>().reason));
    }
    return fmt::format("{} {:x} -> {:x}{}", names[cm::message_index(message.attribute())], message.sender_id(),
                       message.attribute() == wire::CmAttribute::req ? 0 : message.receiver_id(), reason);
}

/// Equal for repeats of a message.
std::uint64_t identity(unsigned to, const mad::MadBuffer& mad) {
    const auto message = *cm::ReceivedMessage::parse(mad);
    auto hash = std::uint64_t{to} << 32 ^ static_cast<std::uint64_t>(message.attribute());
    for (const std::uint64_t part : {message.sender_id(), message.receiver_id()}) {
        hash = Random(Seed{hash ^ part}).next();
    }
    return hash;
}

}  // namespace

wire::Gid gid_of(unsigned node) {
    return wire::Gid::of(0, wire::Guid{0xffff'0a00'0000u + node});
}

CmNode::CmNode(CmScene& scene, unsigned number, Told told) : scene_(scene), number_(number), told_(std::move(told)) {
    seed_ = scene_.plan.ids_wrap ? 0xffff'fffa : 0x10'0000;
    if (!scene_.plan.one_seed) seed_ += 0x100'0000u * number_;
    start();
}

void CmNode::start() {
    auto gid_index = [this](const wire::Gid& gid) { return gid == gid_of(number_) ? std::optional(0u) : std::nullopt; };
    manager_ = cm::Manager::create(
        cm::Manager::Options{.ca_guid = wire::Guid{0x1000 + number_},
                             .seed = (seed_ + (scene_.plan.amnesia ? 0 : 0x1'0000u * lives_)) & 0xffff'ffff,
                             .on_ready = [this](cm::Endpoint& endpoint) { on_ready(endpoint); },
                             .gid_index = std::move(gid_index)},
        *this);
    ++lives_;
}

void CmNode::restart() {
    scene_.say("node {} restarts", number_);
    ++scene_.summary.restarts;
    count();
    std::vector<cm::EndpointPointer> later;  // handles may outlive their manager
    for (auto& user : scene_.users) {
        if (user.node != number_) continue;
        user.forgotten = true;
        if (user.endpoint) later.push_back(std::exchange(user.endpoint, {}));
    }
    if (scene_.random.chance(0.5)) {
        by_endpoint_.clear();
        later.clear();
    }
    manager_.reset();
    for (const auto& endpoint : later) endpoint->poll(scene_.agenda.now());
    by_endpoint_.clear();
    later.clear();
    if (scene_.plan.amnesia) next_qpn_ = 0x100, free_qpns_.clear();
    start();
}

void CmNode::belongs(CmUser& user, cm::EndpointPointer endpoint) {
    user.endpoint = std::move(endpoint);
    user.local = user.endpoint->local_id();
    by_endpoint_[user.endpoint.get()] = &user;
    ++scene_.summary.endpoints;
    watch();
}

void CmNode::drop(CmUser& user) {
    if (!user.endpoint) return;
    scene_.say("user {} drops its endpoint", user.number);
    by_endpoint_.erase(user.endpoint.get());
    user.endpoint.reset();
    watch();
}

void CmNode::on_ready(cm::Endpoint& endpoint) {
    const auto found = by_endpoint_.find(&endpoint);
    if (found == by_endpoint_.end()) return scene_.blame("an endpoint that is dropped is told of something");
    auto& user = *found->second;
    if (std::exchange(user.told, true)) return scene_.blame("user {} is told twice", user.number);
    told_(user);
}

void CmNode::watch() {
    const auto deadline = manager_->deadline();
    if (!deadline || (planned_ && *planned_ <= *deadline)) return;
    planned_ = std::max(*deadline, scene_.agenda.now());
    scene_.agenda.at(*planned_, [this, at = *planned_] {
        if (planned_ != at) return;  // an earlier one came instead
        planned_.reset();
        manager_->tick(scene_.agenda.now());
        watch();
    });
}

wire::Qpn CmNode::take_qpn() {
    if (!free_qpns_.empty() && scene_.random.chance(0.5)) {
        const auto qpn = free_qpns_.front();
        free_qpns_.erase(free_qpns_.begin());
        return qpn;
    }
    return wire::Qpn{next_qpn_++};
}

bool CmNode::lose(unsigned to, const mad::MadBuffer& mad) {
    if (scene_.healed || !scene_.random.chance(scene_.plan.loss)) return false;
    return scene_.plan.harsh || lost_in_row_[identity(to, mad)] < scene_.plan.most_lost_in_row;
}

void CmNode::send(const mad::GmpPeer& peer, mad::MadBytes bytes) noexcept {
    const auto to =
        static_cast<unsigned>(static_cast<std::uint64_t>(peer.path.address.dgid.interface_id()) & 0xff'ffff);
    mad::MadBuffer mad;
    std::ranges::copy(bytes, mad.begin());
    ++scene_.summary.messages;
    if (to >= scene_.nodes.size()) return scene_.blame("a message for no node");
    if (lose(to, mad)) {
        ++lost_in_row_[identity(to, mad)];
        ++scene_.summary.lost;
        if (scene_.trace) scene_.say("node {} sends {} to {}: lost", number_, describe(mad), to);
        return;
    }
    if (scene_.plan.loss > 0) lost_in_row_.erase(identity(to, mad));
    if (scene_.trace) scene_.say("node {} sends {} to {}", number_, describe(mad), to);
    deliver(to, mad);
    if (scene_.healed || !scene_.random.chance(scene_.plan.duplicate)) return;
    ++scene_.summary.duplicated;
    deliver(to, mad);
}

void CmNode::deliver(unsigned to, const mad::MadBuffer& mad) {
    Time delay = 1 + scene_.about(scene_.plan.delay);
    if (!scene_.healed && scene_.random.chance(scene_.plan.late)) {
        delay += scene_.about(scene_.plan.lateness);
        ++scene_.summary.late;
    }
    scene_.agenda.after(delay, [this, to, mad] { scene_.nodes[to]->arrive(number_, mad); });
}

void CmNode::arrive(unsigned from, const mad::MadBuffer& mad) {
    if (scene_.trace) scene_.say("node {} gets {} from {}", number_, describe(mad), from);
    const mad::GmpPeer peer{.path = {.address = {.global = true, .dgid = gid_of(from), .hop_limit = 64}}};
    manager_->receive(peer, mad, scene_.agenda.now());
    watch();
}

void CmNode::count() {
    manager_->counters([this](std::string_view name, std::uint64_t value, std::string_view) {
        auto& sum = scene_.summary;
        if (name.starts_with("retries_")) sum.repeated += value;
        if (name.starts_with("rx_duplicate_")) sum.duplicates_seen += value;
        if (name.starts_with("rx_dropped_")) sum.stray += value;
        if (name == "rejected_stale") sum.stale += value;
        if (name == "peer_to_peer_matches") sum.matched += value;
        if (name == "rx_dropped_malformed" && value != 0)
            scene_.blame("node {} finds {} MADs malformed", number_, value);
    });
}

}  // namespace verbline::sim
