// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <cstring>

#include "tests/sim/side.h"

// What a program is told, and whether it can be so.

namespace verbline::sim {

using transport::Completion, transport::CompletionKind, transport::QueuePairType, transport::SendOperation,
    transport::Status;

namespace {

CompletionKind kind_of(SendOperation operation) {
    using enum SendOperation;
    switch (operation) {
        case send:
        case send_with_immediate:
        case send_with_invalidate: return CompletionKind::send;
        case write:
        case write_with_immediate: return CompletionKind::write;
        case read: return CompletionKind::read;
        case compare_swap: return CompletionKind::compare_swap;
        case fetch_add: return CompletionKind::fetch_add;
        case atomic_write: return CompletionKind::atomic_write;
        case flush: return CompletionKind::flush;
        case local_invalidate: return CompletionKind::local_invalidate;
        case bind_window: return CompletionKind::bind_window;
    }
    return {};
}

}  // namespace

bool Side::permitted(const Message& message, Status status) const {
    if (status == Status::flushed) return failed || broken;
    if (failed) return false;  // one request fails, the others are flushed
    if (message.wanted != Status::success && status == message.wanted) return true;
    if (status == Status::retry_exceeded) return broken || scene.plan.trouble.may_die();
    if (status == Status::rnr_retry_exceeded) return plan.send[half].rnr_retries < 7;
    return false;
}

void Side::completed(const Completion& completion) {
    // Requests that did not ask to be told are complete when a later one is.
    while (!sent.empty() && sent.front()->id != completion.id) {
        auto& silent = *sent.front();
        if (silent.signalled || failed) {
            return scene.fail("{}: completion of {} before that of {}", name(), completion.id, silent.id);
        }
        finish(silent, true);
        sent.pop_front();
    }
    if (sent.empty()) return scene.fail("{}: completion of {}, which is not outstanding", name(), completion.id);
    auto& message = *sent.front();
    sent.pop_front();
    scene.say("{} completes {}: {}", name(), message.id, transport::text(completion.status));
    if (completion.kind != kind_of(message.operation)) scene.fail("{}: {} is of the wrong kind", name(), message.id);
    if (completion.status == Status::success) {
        if (!message.signalled) scene.fail("{}: {} did not ask for a completion", name(), message.id);
        if (failed) scene.fail("{}: {} succeeds after an earlier request failed", name(), message.id);
        finish(message, true);
        return;
    }
    if (!permitted(message, completion.status)) {
        scene.fail("{}: {} fails: {}", name(), message.id, transport::text(completion.status));
    }
    ++scene.summary.failed_requests;
    failed = broken = true;
    if (peer != nullptr && reliable()) peer->broken = true;
    finish(message, false);
}

void Side::finish(Message& message, bool ok) {
    using enum SendOperation;
    message.finished = true, message.succeeded = ok;
    if (ok && message.wanted != Status::success) scene.fail("{}: {} succeeds and should not", name(), message.id);
    if (message.word != nullptr) {
        if (!ok) {
            message.word->failed(message.compare, message.operand);
        } else {
            const auto bytes = message.local.bytes();
            std::uint64_t original = 0;
            std::memcpy(&original, bytes.data(), sizeof(original));
            scene.say("{} atomic {} saw {}", name(), message.id, original);
            if (!message.word->done(message.compare, message.operand, original)) {
                scene.fail("{}: atomic {} saw {}, as another one did", name(), message.id, original);
            }
        }
    } else if (message.operation == read) {
        finish_read(message, ok);
    } else if (message.window != nullptr) {
        finish_window(message, ok);
    } else if (message.writes() || message.operation == atomic_write) {
        finish_write(message, ok);
    } else if (message.operation == flush && message.remote != nullptr) {
        peer->arena().give_back(message.remote);
    }
    message.local.give_back(arena());  // and so written over: nothing may be sent from there any more
}

void Side::finish_write(Message& message, bool ok) {
    if (message.remote == nullptr) return;
    const auto bytes = message.remote->bytes.first(message.size);
    if (message.board != nullptr) {
        auto& board = *message.board;
        if (!ok) return;  // it stays among what the board may hold
        board.settled = std::max(board.settled, message.board_index);
        if (!mixes(bytes, board.candidates(message.board_index, ~0u))) {
            scene.fail("{}: WRITE {} is complete and not there", name(), message.id);
        }
        return;
    }
    if (!reliable() || !ok) {
        scene.limbo.push_back({message.remote, message.size, {0, message.id}});
        return;
    }
    if (!holds(bytes, message.id) || !is_untouched(message.remote->bytes.subspan(message.size))) {
        scene.fail("{}: WRITE {} is complete and not there, or more than that is", name(), message.id);
    }
    peer->arena().give_back(message.remote);
}

void Side::finish_read(Message& message, bool ok) {
    std::vector<MessageId> ids{message.id};
    if (message.board != nullptr) ids = message.board->candidates(message.board_index, message.fences);
    const auto all = message.local.bytes();
    if (ok && (!mixes(all, ids) || all.size() != message.size)) {
        scene.fail("{}: READ {} brings what was not there", name(), message.id);
    }
    ids.push_back(0);
    if (!ok && !mixes(all, ids)) scene.fail("{}: READ {}, which failed, wrote something else", name(), message.id);
    if (message.board == nullptr) peer->arena().give_back(message.remote);
}

void Side::finish_window(Message& message, bool ok) {
    auto& window = *message.window;
    if (!ok) return;  // it stays as it is until the queue pair is gone
    switch (message.operation) {
        case SendOperation::bind_window: window.state = Window::State::bound; break;
        case SendOperation::write:
            if (!holds(window.block->bytes.first(message.size), message.id)) {
                scene.fail("{}: WRITE {} through a window is complete and not there", name(), message.id);
            }
            window.state = Window::State::used;
            break;
        default:
            (message.operation == SendOperation::local_invalidate ? this : peer)->arena().give_back(window.block);
            window.state = Window::State::idle;
    }
}

Message* Side::find_unreliable(const Completion& completion, const Pieces& pieces) {
    auto id = MessageId{completion.immediate};
    if (!(completion.flags & Completion::has_immediate)) {
        const auto all = pieces.bytes();
        const std::size_t at = type_ == QueuePairType::ud ? route_header : 0;
        if (all.size() < at + sizeof(id)) return nullptr;
        std::memcpy(&id, all.data() + at, sizeof(id));
    }
    if (id == 0 || id > scene.messages.size()) return nullptr;
    auto& message = scene.message(id);
    if (message.delivered++ != 0 && !scene.plan.trouble.duplicates) {
        scene.fail("{}: message {} comes twice", name(), id);
    }
    return &message;
}

Message* Side::next_due(const Completion& completion, const Reservoir& reservoir) {
    if (!reliable()) return nullptr;
    for (auto& [number, messages] : due) {
        const bool here = number == 0 || node.xrc_reservoirs[domain].get() == &reservoir;
        if (!here || messages.empty()) continue;
        if (completion.status == Status::success) {
            auto* const message = messages.front();
            messages.pop_front();
            return message;
        }
        return messages.front();
    }
    return nullptr;
}

void Side::received(const Completion& completion, Pieces& pieces, Reservoir& reservoir) {
    auto* message = next_due(completion, reservoir);
    if (completion.status != Status::success) {
        scene.say("{} receive {:x}: {}", name(), completion.id, transport::text(completion.status));
        flushed_ = true;
        if (completion.status != Status::flushed) {
            scene.fail("{}: receive {:x} fails: {}", name(), completion.id, transport::text(completion.status));
        }
        // What was under way may have come in part.
        const auto all = pieces.bytes();
        if (reliable() && !is_untouched(all) &&
            (message == nullptr || !mixes(all, std::vector<MessageId>{0, message->id}))) {
            scene.fail("{}: receive {:x}, which is flushed, was written to", name(), completion.id);
        }
        return pieces.give_back(reservoir.arena());
    }
    if (!reliable()) message = find_unreliable(completion, pieces);
    ++scene.summary.receives;
    if (message == nullptr) return scene.fail("{}: receive {:x} completes, of nothing", name(), completion.id);
    scene.say("{} receives {} into {:x}", name(), message->id, completion.id);
    if (message->to != this) scene.fail("{}: message {} was not for here", name(), message->id);

    const std::uint32_t front = type_ == QueuePairType::ud ? route_header : 0;
    const bool written = message->operation == SendOperation::write_with_immediate;
    auto flags = message->has_immediate() ? Completion::has_immediate : 0;
    if (message->operation == SendOperation::send_with_invalidate) flags = Completion::has_invalidated;
    if (front != 0) flags |= Completion::has_grh;
    const auto immediate = message->has_immediate() ? static_cast<std::uint32_t>(message->id) : message->key;
    if (completion.flags != flags || completion.length != message->size + front || completion.immediate != immediate ||
        completion.solicited != message->solicited ||
        completion.kind != (written ? CompletionKind::receive_write_with_immediate : CompletionKind::receive)) {
        scene.fail("{}: the completion of message {} says something else", name(), message->id);
    }
    if (front != 0 && completion.source != message->from->qpn()) scene.fail("{}: wrong source", name());
    if (written) {
        if (!message->finished && !holds(message->remote->bytes.first(message->size), message->id)) {
            scene.fail("{}: message {} is announced and not there", name(), message->id);
        }
    } else if (front == 0 && reliable()) {
        if (!pieces.hold(message->id, message->size)) scene.fail("{}: message {} is damaged", name(), message->id);
    } else {  // what an unreliable message that was cut short left behind it may still be there
        const auto all = pieces.bytes();
        if (!holds(std::span(all).subspan(front, message->size), message->id)) {
            scene.fail("{}: message {} is damaged", name(), message->id);
        }
    }
    pieces.give_back(reservoir.arena());
}

}  // namespace verbline::sim
