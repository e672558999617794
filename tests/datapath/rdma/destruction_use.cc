// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <array>

#include "tests/datapath/rdma/destruction_program.h"
#include "tests/support/rdma_end.h"

// What a program does with its objects between making and destroying them.

namespace verbline::destruction {
namespace {

using transport::SendOperation;

constexpr wire::QKey qkey{0x1234};

bool sends(QueuePairType type) {
    return type != QueuePairType::xrc_target;
}

bool reliable(QueuePairType type) {
    return type == QueuePairType::rc || type == QueuePairType::xrc_initiator;
}

}  // namespace

void Program::connect(Pair& pair, wire::Qpn remote, const sim::Host& to) {
    auto& native = pair.native();
    const auto path = world_.path(host_, const_cast<sim::Host&>(to), host_.gid_v2_ipv4());
    if (!to_peer_) to_peer_ = *host_.device().envelope(path, wire::Qpn{}, wire::Qpn{});
    const bool moved =
        native.init({.access = test::every_access, .qkey = qkey}).has_value() &&
        native
            .ready_to_receive({.remote = remote,
                               .path = path,
                               .mtu = mtu,
                               .first = wire::Psn(7),
                               .max_reads = 4,
                               .selective_ack = true})
            .has_value() &&
        native.ready_to_send({.first = wire::Psn(7), .timeout = 6, .retries = 7, .rnr_retries = 3, .max_reads = 4})
            .has_value();
    if (!moved) wrong("a new queue pair does not become ready");
}

Offer Program::offer() {
    Offer made;
    if (!memory_.empty()) {
        const auto& memory = *memory_[random_.below(memory_.size())];
        made.address = reinterpret_cast<std::uint64_t>(memory.bytes.data());
        made.rkey = memory.region->rkey();
    }
    if (!windows_.empty() && random_.chance(0.03)) made.rkey = windows_[random_.below(windows_.size())].key;
    for (const auto& each : shared_) {
        if (each->domain != nullptr && (made.xrc_queue == 0 || random_.chance(0.3))) {
            made.xrc_queue = each->native->number();
        }
    }
    for (const auto& each : pairs_) {
        if (each->type == QueuePairType::ud) made.datagrams = each->qpn();
    }
    return made;
}

std::optional<transport::Segment> Program::segment(std::uint32_t most) {
    if (memory_.empty()) return std::nullopt;
    const auto& memory = *memory_[random_.below(memory_.size())];
    const auto length = 8 + random_.below(most - 7);
    return transport::Segment{reinterpret_cast<std::uint64_t>(memory.bytes.data()), static_cast<std::uint32_t>(length),
                              memory.region->lkey()};
}

transport::SendRequest Program::request(const Pair& pair, const Offer& to) {
    // What fails when it is not just right comes last, and rarely: after it the connection is in the error state.
    constexpr std::array operations{SendOperation::send,
                                    SendOperation::send_with_immediate,
                                    SendOperation::write,
                                    SendOperation::write_with_immediate,
                                    SendOperation::read,
                                    SendOperation::fetch_add,
                                    SendOperation::compare_swap,
                                    SendOperation::flush,
                                    SendOperation::bind_window,
                                    SendOperation::local_invalidate,
                                    SendOperation::send_with_invalidate};
    const auto safe = pair.type == QueuePairType::ud ? 2u : reliable(pair.type) ? 8u : 4u;
    const bool any_of_all = reliable(pair.type) && random_.chance(0.05);
    const auto choices = any_of_all ? operations.size() : safe;
    transport::SendRequest made{.id = next_id_++,
                                .operation = operations[random_.below(choices)],
                                .flags = static_cast<std::uint8_t>(random_.below(8)),
                                .remote_address = to.address,
                                .rkey = to.rkey,
                                .length = 64,
                                .flush_placement = 1,
                                .xrc_srq = to.xrc_queue};
    if (pair.type == QueuePairType::ud) made.ud = {.envelope = &*to_peer_, .qpn = to.datagrams, .qkey = qkey};
    if (pair.type == QueuePairType::xrc_initiator) {
        const bool named = to.xrc_queue != 0 && random_.chance(0.8);
        if (named || !random_.chance(0.1)) made.operation = named ? SendOperation::send : SendOperation::read;
    }
    if (made.operation == SendOperation::send_with_invalidate) made.immediate = static_cast<std::uint32_t>(to.rkey);
    if (made.operation == SendOperation::bind_window || made.operation == SendOperation::local_invalidate) {
        if (windows_.empty() || memory_.empty()) return made.operation = SendOperation::send, made;
        auto& window = windows_[random_.below(windows_.size())];
        made.immediate = static_cast<std::uint32_t>(window.key);
        if (made.operation == SendOperation::local_invalidate) return made;
        const auto& memory = *memory_[random_.below(memory_.size())];
        const auto next = memory::next_key(window.key);
        made.bind = {.window = window.key,
                     .new_key = next,
                     .region = memory.region->lkey(),
                     .address = reinterpret_cast<std::uint64_t>(memory.bytes.data()),
                     .length = random_.chance(0.2) ? 0u : block,
                     .rights = memory::Access::remote_write | memory::Access::remote_read};
        window.key = next;
    }
    return made;
}

void Program::post(const Offer& to) {
    auto pair = any(pairs_);
    // Most often to one that has not failed.
    for (int tries = 0; tries < 8 && pair != nullptr && pair->native().state() != transport::QueuePairState::rts;
         ++tries) {
        pair = any(pairs_);
    }
    if (pair == nullptr || !sends(pair->type)) return;
    for (auto count = 1 + random_.below(4); count > 0; --count) {
        auto made = request(*pair, to);
        const bool atomic = made.operation == SendOperation::fetch_add || made.operation == SendOperation::compare_swap;
        const auto from = segment(pair->type == QueuePairType::ud ? mtu : atomic ? 8 : block);
        if (from && made.operation != SendOperation::flush) made.segments = {&*from, 1};
        if (pair->native().post(made)) outstanding_.insert(made.id);
    }
}

template <class To>
void Program::post_receives_to(To& to) {
    for (auto count = 1 + random_.below(8); count > 0; --count) {
        auto into = segment(block);
        if (!into) return;
        if (random_.chance(0.97)) into->length = block;  // or the message may be too long for it
        const transport::ReceiveRequest made{.id = next_id_++, .segments = {&*into, 1}};
        if (to.post(made)) outstanding_.insert(made.id);
    }
}

void Program::post_receives(Shared& shared) {
    post_receives_to(*shared.native);
}

void Program::post_receives() {
    if (const auto shared = random_.chance(0.5) ? any(shared_) : nullptr) return post_receives(*shared);
    if (const auto pair = any(pairs_)) post_receives_to(pair->native());
}

void Program::poll() {
    const auto queue = any(queues_);
    if (queue == nullptr) return;
    std::array<transport::Completion, 16> completions;
    const auto n = queue->native->poll(std::span(completions).first(1 + random_.below(completions.size())));
    for (const auto& each : std::span(completions).first(n)) {
        if (outstanding_.erase(each.id) == 0) wrong("a request completes that was not posted, or has completed");
        ++completed_;
        if (each.status == transport::Status::success) ++succeeded_;
    }
    if (random_.chance(0.2)) std::ignore = host_.device().resize_cq(*queue->native, 512 + 512 * random_.below(2));
}

void Program::change_state() {
    const auto pair = any(pairs_);
    if (pair == nullptr) return;
    auto& native = pair->native();
    switch (random_.below(6)) {
        case 0: return native.error();
        case 1: return native.reset();
        case 2: std::ignore = native.drain(); return;
        case 3:
        case 4: std::ignore = native.resume(); return;
        default: break;
    }
    if (pair->type != QueuePairType::ud) return native.set_access(test::every_access);
    const wire::Gid group = wire::Gid::of(0xff0e'0000'0000'0000, wire::Guid{random_.below(3)});
    std::ignore = random_.chance(0.5) ? native.attach(group) : native.detach(group);
}

void Program::look_at_events() {
    for (const auto& event : host_.events()) {
        const bool known_queue = event.cq == nullptr || std::ranges::any_of(queues_, [&](const auto& queue) {
                                     return queue->native.get() == event.cq;
                                 });
        const bool known_shared = event.srq == nullptr || std::ranges::any_of(shared_, [&](const auto& shared) {
                                      return shared->native->id() == event.srq;
                                  });
        if (!known_queue || !known_shared) wrong("an event is about a queue that has been destroyed");
    }
    host_.events().clear();
}

}  // namespace verbline::destruction
