// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// A completion queue: polled by ibv_poll_cq or by the extended calls, and armed.
///
/// Polling an empty queue drives the shard: programs that poll need no helper thread.

#include <array>
#include <atomic>
#include <memory>
#include <span>

#include <infiniband/verbs.h>

#include "apps/libibverbs/objects/abi_handle.h"
#include "apps/libibverbs/objects/completion_channel.h"
#include "apps/libibverbs/objects/context.h"
#include "apps/libibverbs/objects/protection_domain.h"
#include "apps/libibverbs/port/spin_lock.h"
#include "datapath/transport/completion_queue.h"

namespace verbline::verbs {

class CompletionQueue {
public:
    static Result<CompletionQueue*> create(Context& context, const ibv_cq_init_attr_ex& attributes);
    ~CompletionQueue();
    CompletionQueue(const CompletionQueue&) = delete;
    CompletionQueue& operator=(const CompletionQueue&) = delete;

    /// ibv_cq and ibv_cq_ex are one: the latter is longer.
    static CompletionQueue& of(ibv_cq* cq) { return of(reinterpret_cast<ibv_cq_ex*>(cq)); }
    static CompletionQueue& of(ibv_cq_ex* cq) { return AbiHandle<ibv_cq_ex, CompletionQueue>::object_of(cq); }
    ibv_cq* abi() { return reinterpret_cast<ibv_cq*>(&handle_.abi); }
    ibv_cq_ex* extended() { return &handle_.abi; }

    transport::CompletionQueue& native() { return *native_; }

    int poll(std::span<ibv_wc> out) noexcept;
    void arm(bool solicited_only) noexcept;
    Result<void> resize(int entries);
    /// Removes the completions of a destroyed queue pair.
    void purge(wire::Qpn qpn) noexcept;

    /// True if there may be completions to poll. Any thread.
    bool has_completions() noexcept;

    // Events read and acknowledged; destruction waits until the two counts are equal.
    void event_read() { events_read_.fetch_add(1, std::memory_order_relaxed); }
    void acknowledge(unsigned count);
    void await_acknowledged();

    // Extended polling (extended_poll.cc): `current` is the completion being read.
    int start_poll() noexcept;
    int next_poll() noexcept;
    void end_poll() noexcept;
    const transport::Completion& current() const { return current_; }

    std::atomic<unsigned> users{0};  ///< queue pairs and XRC queues; a queue pair counts for each half

private:
    CompletionQueue(Context& context, const ibv_cq_init_attr_ex& attributes);
    /// Requires the lock. Drives the shard if the queue is empty.
    std::size_t take(std::span<transport::Completion> out) noexcept;
    /// As many as there are, up to the size of `out`; takes the lock.
    std::size_t take_all(std::span<ibv_wc> out) noexcept;
    /// Moves the next completion, if any, to `current_`, and then returns with the lock held.
    bool take_current() noexcept;
    void show_current() noexcept;
    Context& context() { return Context::of(handle_.abi.context); }

    static constexpr std::size_t most = 16;  ///< completions taken at a time

    Context::Hold hold_;
    AbiHandle<ibv_cq_ex, CompletionQueue> handle_;
    std::unique_ptr<transport::CompletionQueue> native_;
    CompletionChannel* channel_ = nullptr;
    ProtectionDomain* parent_domain_ = nullptr;
    SpinLock lock_;
    transport::Completion current_{};  ///< of an extended poll
    std::atomic<unsigned> events_read_{0};
};

/// Sets the functions that read fields of the current completion.
void set_extended_polling(ibv_cq_ex& queue, std::uint64_t wc_flags);

ibv_cq_ex* create_cq_ex(ibv_context* context, ibv_cq_init_attr_ex* attributes);
int modify_cq(ibv_cq* cq, ibv_modify_cq_attr* attributes);
int poll_cq(ibv_cq* cq, int count, ibv_wc* out);
int req_notify_cq(ibv_cq* cq, int solicited_only);

}  // namespace verbline::verbs
