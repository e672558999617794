// SPDX-License-Identifier: BSD-3-Clause
#include "tests/sim/side.h"

#include <algorithm>
#include <stdexcept>

// A queue pair's life.

namespace verbline::sim {

using memory::Access;
using transport::QueuePairType;

namespace {

constexpr auto every_access = Access::local_write | Access::remote_write | Access::remote_read | Access::remote_atomic |
                              Access::mw_bind | Access::flush_global;

}  // namespace

Side::Side(Scene& s, Node& n, const PairPlan& p, unsigned h)
    : scene(s),
      node(n),
      plan(p),
      half(h),
      domain(static_cast<unsigned>(s.random.below(2))),
      type_(p.type),
      left_(p.messages) {
    if (type_ == QueuePairType::xrc_initiator && half == 1) type_ = QueuePairType::xrc_target;
    if (!sends()) give_up();
    if (type_ != QueuePairType::xrc_target && type_ != QueuePairType::xrc_initiator && !plan.shared[half]) {
        const auto size = plan.largest + (type_ == QueuePairType::ud ? plan.mtu + route_header : 0);
        own = std::make_unique<Reservoir>(
            scene, arena(), size, plan.depth, true, [this](const transport::ReceiveRequest& request) {
                return pair_ != nullptr && (!killed || posting_in_error_) && pair_->post(request).has_value();
            });
    }
}

std::string Side::name() const {
    return fmt::format("{}.{}{}", node.host->port().setup().mac->bytes[5],
                       pair_ ? static_cast<std::uint32_t>(qpn()) : 0,
                       type_ == QueuePairType::rc              ? "rc"
                       : type_ == QueuePairType::uc            ? "uc"
                       : type_ == QueuePairType::ud            ? "ud"
                       : type_ == QueuePairType::xrc_initiator ? "ini"
                                                               : "tgt");
}

void Side::create() {
    auto& random = scene.random;
    auto* const sends_to = node.queues[random.below(node.queues.size())].get();
    auto* const receives_to = node.queues[random.below(node.queues.size())].get();
    auto made = node.host->device().create_queue_pair(
        {.type = type_,
         .pd = arena().pd(),
         .send_completions = sends_to,
         .receive_completions = receives_to,
         .send = {.requests = plan.depth, .segments = 3, .inline_bytes = 32},
         .receive = {.requests = plan.depth, .segments = 3},
         .shared = plan.shared[half] && type_ != QueuePairType::xrc_initiator && type_ != QueuePairType::xrc_target
                       ? node.shared[domain].get()
                       : nullptr,
         .xrc_domain = type_ == QueuePairType::xrc_target ? &*node.domains[domain] : nullptr});
    if (!made) throw std::runtime_error(made.error().what);
    pair_ = std::move(*made);
    node.sides[static_cast<std::uint32_t>(qpn())] = this;
    ++scene.summary.queue_pairs;
}

void Side::connect(World& world, const Side& to, wire::Psn send_first, wire::Psn receive_first) {
    world_ = &world;
    ++epoch_;
    broken = killed = failed = flushed_ = false;
    auto send = plan.send[half];
    send.first = send_first;
    const bool done = pair_->init({.access = every_access, .qkey = qkey}) &&
                      pair_->ready_to_receive({.remote = to.qpn(),
                                               .path = world.path(*node.host, *to.node.host, plan.gid_index),
                                               .mtu = plan.mtu,
                                               .first = receive_first,
                                               .max_reads = plan.max_reads,
                                               .rnr_timer = plan.rnr_timer[half],
                                               .selective_ack = plan.selective,
                                               .produce_credits = plan.credits[half]});
    // The first receives are posted before anybody can send.
    if (own != nullptr && !plan.late[half]) own->post(plan.depth);
    if (!done || !pair_->ready_to_send(send)) throw std::runtime_error(name() + " cannot be connected");
    scene.say("{} is connected to {}, PSNs {} and {}", name(), to.name(), send_first.value(), receive_first.value());
}

void Side::error() {
    if (pair_ == nullptr) return;
    scene.say("{} to error", name());
    killed = broken = true;
    pair_->error();
}

void Side::post_in_error() {
    if (own == nullptr || pair_ == nullptr) return;
    posting_in_error_ = true;
    own->post(2);
    posting_in_error_ = false;
}

void Side::reset() {
    if (pair_ == nullptr) return;
    scene.say("{} to reset", name());
    if (!sent.empty() || pair_->state() != transport::QueuePairState::error) ++scene.resets;
    killed = broken = true;
    pair_->reset();
    end_epoch();
}

void Side::destroy() {
    if (pair_ == nullptr) return;
    scene.say("{} is destroyed", name());
    if (pair_->state() != transport::QueuePairState::error) ++scene.resets;
    killed = broken = true;
    node.sides.erase(static_cast<std::uint32_t>(qpn()));
    pair_.reset();
    end_epoch();
}

void Side::check_flushed() {
    if (flushed_ && !broken) scene.fail("{}: receives are flushed without a reason", name());
}

void Side::end_epoch() {
    for (auto* const message : sent) finish(*message, false);
    sent.clear();
    due.clear();
    if (own != nullptr) own->forget();
    for (; first_board_ < boards_.size(); ++first_board_) {
        const auto& board = boards_[first_board_];
        scene.limbo.push_back({board.block, board.size, board.candidates(board.settled, ~0u)});
    }
    for (; first_window_ < windows_.size(); ++first_window_) windows_[first_window_].state = Window::State::busy;
}

void Side::check_quiet() {
    // What failed or was flushed has said so, asked or not: what is silent has succeeded.
    const auto silent = [](const Message* message) { return !message->signalled; };
    if (killed && !failed && std::ranges::all_of(sent, silent)) {
        for (auto* const message : sent) finish(*message, true);
        sent.clear();
    }
    if (!sent.empty()) {
        scene.fail("{}: request {} never completes ({} wait)", name(), sent.front()->id, sent.size());
    }
    if (own != nullptr && own->outstanding() != 0 && killed) {
        scene.fail("{}: receive {:x} is not flushed ({} wait)", name(), own->order().front(), own->outstanding());
    }
    if (!broken && reliable()) {
        for (const auto& [number, messages] : due) {
            if (!messages.empty()) scene.fail("{}: message {} was never received", name(), messages.front()->id);
        }
    }
}

}  // namespace verbline::sim
