// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <utility>

#include "datapath/wire/feth.h"
#include "tests/sim/side.h"

// What a program asks for.

namespace verbline::sim {

using memory::Access;
using transport::QueuePairType, transport::SendOperation, transport::SendRequest, transport::Status;

struct Side::Draft {
    Message& message;
    SendRequest request;
    std::vector<std::byte> plain;  ///< inline data
    transport::Segment plain_segment;
};

std::uint32_t Side::any_size() {
    auto& random = scene.random;
    const auto largest = plan.largest;
    switch (random.below(10)) {
        case 0: return 0;
        case 1:
        case 2:
        case 3: return static_cast<std::uint32_t>(random.below(std::min(largest, 64u)));
        case 4:
        case 5: {  // around the ends of packets
            const auto packets = 1 + random.below(1 + largest / plan.mtu);
            const auto size = packets * plan.mtu + random.below(3) - 1;
            return static_cast<std::uint32_t>(std::min<std::uint64_t>(size, largest));
        }
        default: return static_cast<std::uint32_t>(random.below(largest + 1));
    }
}

bool Side::post_one() {
    if (!wants_to_post() || !ready() || broken) return false;
    if (left_ == 0) {
        post_last();
        return last_posted_;
    }
    auto& message = scene.messages.emplace_back();
    message = {.id = scene.messages.size(), .from = this, .to = peer, .epoch = epoch_};
    Draft draft{.message = message, .request = {.id = message.id}, .plain = {}, .plain_segment = {}};
    message.signalled = scene.random.chance(0.5);
    message.solicited = scene.random.chance(0.2);
    message.fenced = reliable() && scene.random.chance(0.1);
    choose(draft);
    if (!post(draft)) return false;
    --left_;
    return true;
}

/// Its completion says that everything before is complete, too.
void Side::post_last() {
    auto& message = scene.messages.emplace_back();
    message = {.id = scene.messages.size(), .from = this, .to = peer, .epoch = epoch_};
    Draft draft{.message = message, .request = {.id = message.id}, .plain = {}, .plain_segment = {}};
    message.signalled = true;
    if (type_ == QueuePairType::ud) {
        draft_datagram(draft);
    } else {
        message.operation = draft.request.operation = SendOperation::write;
    }
    last_posted_ = post(draft);
}

void Side::choose(Draft& draft) {
    auto& random = scene.random;
    if (type_ == QueuePairType::ud) return draft_datagram(draft);
    if (type_ == QueuePairType::uc) return random.chance(0.7) ? draft_send(draft) : draft_write(draft);
    if (scene.plan.trouble.mistakes && random.chance(0.02)) return draft_mistake(draft);
    const auto n = random.below(100);
    if (n < 30) return draft_send(draft);
    if (n < 48) return draft_write(draft);
    if (n < 58) return draft_board_write(draft);
    if (n < 74) return draft_read(draft);
    if (n < 84) return draft_atomic(draft);
    if (n < 88) return draft_atomic_write(draft);
    if (n < 91) return draft_flush(draft);
    if (type_ != QueuePairType::rc || !draft_window(draft)) draft_send(draft);
}

void Side::draft_send(Draft& draft) {
    auto& [message, request, plain, plain_segment] = draft;
    const bool immediate = scene.random.chance(0.3);
    message.operation = immediate ? SendOperation::send_with_immediate : SendOperation::send;
    message.size = any_size();
    if (type_ == QueuePairType::uc && !immediate) message.size = std::max(message.size, 8u);
    if (message.size <= 32 && scene.random.chance(0.5)) {
        plain = pattern(message.id, message.size);
        plain_segment = {reinterpret_cast<std::uint64_t>(plain.data()), message.size, {}};
        request.segments = {&plain_segment, 1};
        request.flags |= transport::send_inline;
    } else {
        message.local = Pieces(arena(), Use::source, message.size,
                               static_cast<unsigned>(scene.random.below(3) + (message.size != 0)));
        message.local.write(message.id);
    }
}

void Side::draft_write(Draft& draft) {
    draft_send(draft);
    auto& message = draft.message;
    message.operation =
        message.operation == SendOperation::send ? SendOperation::write : SendOperation::write_with_immediate;
    message.remote = peer->arena().take(Use::target, message.size);
}

void Side::draft_board_write(Draft& draft) {
    if (boards_.size() - first_board_ < 3 && scene.random.chance(0.3)) {
        const auto size = std::max(any_size(), 1u);
        boards_.push_back({.block = peer->arena().take(Use::target, size), .size = size, .writes = {}});
    }
    if (boards_.size() == first_board_) return draft_write(draft);
    auto& message = draft.message;
    message.board = &boards_[first_board_ + scene.random.below(boards_.size() - first_board_)];
    message.operation = SendOperation::write;
    message.size = message.board->size;
    message.remote = message.board->block;
    message.local = Pieces(arena(), Use::source, message.size, static_cast<unsigned>(1 + scene.random.below(3)));
    message.local.write(message.id);
}

void Side::draft_read(Draft& draft) {
    auto& message = draft.message;
    message.operation = SendOperation::read;
    if (boards_.size() != first_board_ && scene.random.chance(0.4)) {
        message.board = &boards_[first_board_ + scene.random.below(boards_.size() - first_board_)];
        message.board_index = message.board->writes.size();
        message.size = message.board->size;
        message.remote = message.board->block;
    } else {
        message.size = any_size();
        message.remote = peer->arena().take(Use::exported, message.size);
        write_pattern(message.remote->bytes.first(message.size), message.id);
    }
    message.local =
        Pieces(arena(), Use::sink, message.size, static_cast<unsigned>(scene.random.below(3) + (message.size != 0)));
}

void Side::draft_atomic(Draft& draft) {
    auto& message = draft.message;
    auto& words = peer->node.words[peer->domain];
    message.word = &words[scene.random.below(words.size())];
    message.size = 8;
    message.local = Pieces(arena(), Use::sink, 8, static_cast<unsigned>(1 + scene.random.below(2)));
    if (message.word->kind() == AtomicWord::Kind::sum) {
        message.operation = SendOperation::fetch_add;
        message.operand = 1 + scene.random.below(1000);
    } else {
        message.operation = SendOperation::compare_swap;
        message.compare = message.word->seen();
        message.operand = message.id;
    }
    draft.request.remote_address = message.word->block().address;
    draft.request.rkey = message.word->block().key;
    draft.request.compare = message.compare;
    draft.request.swap_or_add = message.operand;
}

void Side::draft_atomic_write(Draft& draft) {
    auto& message = draft.message;
    message.operation = SendOperation::atomic_write;
    message.size = 8;
    message.local = Pieces(arena(), Use::source, 8, static_cast<unsigned>(1 + scene.random.below(2)));
    message.local.write(message.id);
    message.remote = peer->arena().take(Use::target, 8);
}

void Side::draft_flush(Draft& draft) {
    auto& message = draft.message;
    message.operation = SendOperation::flush;
    message.remote = peer->arena().take(Use::target, 256);
    draft.request.length = 256;
    draft.request.flush_placement = wire::Feth::global_visibility;
}

/// To some other end, itself not excepted; sometimes with a Q_Key that is not the receiver's.
void Side::draft_datagram(Draft& draft) {
    auto& message = draft.message;
    auto& to = *scene.datagram_sides[scene.random.below(scene.datagram_sides.size())];
    message.operation = scene.random.chance(0.3) ? SendOperation::send_with_immediate : SendOperation::send;
    message.size = static_cast<std::uint32_t>(8 + scene.random.below(std::min(plan.mtu, to.plan.mtu) - 7));
    message.local = Pieces(arena(), Use::source, message.size, static_cast<unsigned>(1 + scene.random.below(3)));
    message.local.write(message.id);
    message.to = &to;
    auto key = to.qkey;
    if (scene.random.chance(0.05)) key = wire::QKey{0x7777}, message.to = nullptr;
    const auto path = world_->path(*node.host, *to.node.host, plan.gid_index);
    envelopes_.push_back(*node.host->device().envelope(path, qpn(), to.qpn()));
    draft.request.ud = {.envelope = &envelopes_.back(), .qpn = to.qpn(), .qkey = key};
}

/// The next step in the life of a window: bind (its owner), write through it (the peer), invalidate (either).
bool Side::draft_window(Draft& draft) {
    auto& [message, request, plain, plain_segment] = draft;
    for (auto i = peer->first_window_; i < peer->windows_.size(); ++i) {
        auto& window = peer->windows_[i];
        if (window.state == Window::State::bound) {
            message.operation = SendOperation::write;
            message.size = static_cast<std::uint32_t>(1 + scene.random.below(window.block->bytes.size()));
            message.local = Pieces(arena(), Use::source, message.size, 1);
            message.local.write(message.id);
            message.window = &window;
            request.remote_address = window.block->address;
            request.rkey = window.key;
            return true;
        }
        if (window.state == Window::State::used && scene.random.chance(0.5)) {
            message.operation = SendOperation::send_with_invalidate;
            message.window = &window;
            message.key = static_cast<std::uint32_t>(window.key);
            return true;
        }
    }
    for (auto i = first_window_; i < windows_.size(); ++i) {
        auto& window = windows_[i];
        if (window.state != Window::State::used) continue;
        message.operation = SendOperation::local_invalidate;
        message.window = &window;
        message.key = static_cast<std::uint32_t>(window.key);
        return true;
    }
    auto idle = std::find_if(windows_.begin() + static_cast<std::ptrdiff_t>(first_window_), windows_.end(),
                             [](const Window& window) { return window.state == Window::State::idle; });
    if (idle == windows_.end()) {
        if (windows_.size() - first_window_ >= 2) return false;
        auto& made = windows_.emplace_back();
        made.handle.emplace(*node.host->device().allocate_window(arena().pd(), memory::WindowType::type2b));
        made.key = made.handle->rkey();
        idle = windows_.end() - 1;
    }
    auto& window = *idle;
    window.block = arena().take(Use::window, 256);
    message.operation = SendOperation::bind_window;
    message.window = &window;
    const auto old = static_cast<std::uint32_t>(window.key);
    window.key = wire::RKey{(old & ~0xffu) | ((old + 1 + static_cast<std::uint32_t>(scene.random.below(200))) & 0xff)};
    request.bind = {.window = wire::RKey{old},
                    .new_key = window.key,
                    .region = window.block->key,
                    .address = window.block->address,
                    .length = window.block->bytes.size(),
                    .rights = Access::remote_write};
    return true;
}

/// A request that must fail, and how.
void Side::draft_mistake(Draft& draft) {
    auto& [message, request, plain, plain_segment] = draft;
    message.operation = SendOperation::write;
    message.size = 8;
    message.local = Pieces(arena(), Use::source, 8, 1);
    message.local.write(message.id);
    message.wanted = Status::remote_access_error;
    const auto* block = peer->arena().take(Use::target, 8);  // never given back: nobody may write there
    request.remote_address = block->address;
    request.rkey = block->key;
    switch (scene.random.below(7)) {
        case 0: request.rkey = wire::RKey{static_cast<std::uint32_t>(block->key) ^ 0x5a00}; break;
        case 1: request.remote_address += 1 << 24; break;
        case 2:
            block = peer->arena().take(Use::exported, 8);
            request.remote_address = block->address, request.rkey = block->key;
            break;
        case 3:
            message.local.give_back(arena());
            message.operation = SendOperation::flush, request.length = 1 << 24;
            request.flush_placement = wire::Feth::global_visibility;
            break;
        case 4:
            message.operation = SendOperation::fetch_add;
            message.wanted = Status::remote_access_error;  // no right to
            message.local.give_back(arena());
            message.local = Pieces(arena(), Use::sink, 8, 1);
            request.swap_or_add = 1;
            break;
        case 5:
            plain_segment = message.local.segments()[0];
            plain_segment.lkey = wire::RKey{static_cast<std::uint32_t>(plain_segment.lkey) ^ 0x5a00};
            request.segments = {&plain_segment, 1};
            message.wanted = Status::local_protection_error;
            break;
        case 6:  // another domain's memory
            block = peer->node.arenas[1 - peer->domain]->take(Use::target, 8);
            request.remote_address = block->address, request.rkey = block->key;
            break;
    }
}

bool Side::post(Draft& draft) {
    auto& [message, request, plain, plain_segment] = draft;
    request.operation = message.operation;
    if (request.segments.empty()) request.segments = message.local.segments();
    if (message.signalled) request.flags |= transport::send_signalled;
    if (message.solicited) request.flags |= transport::send_solicited;
    if (message.fenced) request.flags |= transport::send_fence;
    if (message.remote != nullptr) {
        request.remote_address = message.remote->address;
        request.rkey =
            message.size == 0 && message.operation != SendOperation::flush ? wire::RKey{1} : message.remote->key;
    }
    request.immediate = message.has_immediate() ? static_cast<std::uint32_t>(message.id) : message.key;
    if (type_ == QueuePairType::xrc_initiator) {
        request.xrc_srq = message.shared_number = peer->node.xrc_shared[peer->domain]->number();
    }
    if (const auto posted = pair_->post(request); !posted) {
        if (posted.error().why != transport::PostError::queue_full) scene.fail("{}: post is refused", name());
        undo(draft);
        return false;
    }
    std::ranges::fill(plain, std::byte{0xee});
    commit(message);
    return true;
}

void Side::undo(Draft& draft) {
    auto& message = draft.message;
    message.local.give_back(arena());
    if (message.remote != nullptr && message.board == nullptr) peer->arena().give_back(message.remote);
    if (message.operation == SendOperation::bind_window) {
        arena().give_back(message.window->block);
        message.window->key = draft.request.bind.window;
    }
    scene.messages.pop_back();
}

void Side::commit(Message& message) {
    scene.say("{} posts {} op {} size {}{}{}{}", name(), message.id, static_cast<int>(message.operation), message.size,
              message.signalled ? " signalled" : "", message.fenced ? " fenced" : "",
              message.wanted != Status::success ? " (a mistake)" : "");
    ++scene.summary.messages;
    sent.push_back(&message);
    if (message.fenced) ++fences_;
    if (message.wanted != Status::success) broken = peer->broken = true;
    if (reliable() && message.consumes()) peer->due[message.shared_number].push_back(&message);
    if (message.board != nullptr && message.operation == SendOperation::write) {
        message.board->writes.push_back({message.id, fences_});
        message.board_index = message.board->writes.size();
    }
    if (message.operation == SendOperation::read) message.fences = fences_;
    if (message.word != nullptr) message.word->posted(message.compare, message.operand);
    if (message.window != nullptr) message.window->state = Window::State::busy;
}

}  // namespace verbline::sim
