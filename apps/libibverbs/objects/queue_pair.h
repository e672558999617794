// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// A queue pair of the verbs: the native one, the attributes that programs set and query, and posting.
///
///     ibv_post_send, ibv_post_recv ──> post.cc ────────────┐
///     ibv_wr_start ... ibv_wr_complete ──> work_builder.h ─┼──> rdma::QueuePair ──> one round of the shard
///     ibv_modify_qp ──> queue_pair_states.cc ──────────────┘

#include <array>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include <infiniband/verbs.h>

#include "apps/libibverbs/objects/abi_handle.h"
#include "apps/libibverbs/objects/completion_queue.h"
#include "apps/libibverbs/objects/limits.h"
#include "apps/libibverbs/objects/protection_domain.h"
#include "apps/libibverbs/objects/shared_receive_queue.h"
#include "apps/libibverbs/objects/work_builder.h"
#include "apps/libibverbs/port/spin_lock.h"
#include "datapath/rdma/queue_pair.h"

namespace verbline::verbs {

/// The objects that a queue pair was created with; null where it has none.
struct QueuePairParts {
    ProtectionDomain* domain = nullptr;
    CompletionQueue* send_queue = nullptr;
    CompletionQueue* receive_queue = nullptr;
    SharedReceiveQueue* shared = nullptr;
    XrcDomain* xrc = nullptr;

    /// Of a target that other programs may share; else null.
    const SharedDomain* shared_domain() const { return xrc != nullptr ? xrc->shared() : nullptr; }
};

class VerbsQueuePair {
public:
    static Result<VerbsQueuePair*> create(Context& context, ibv_qp_init_attr_ex& attributes);
    static Result<VerbsQueuePair*> open(Context& context, const ibv_qp_open_attr& attributes);
    /// Removes its completions from the completion queues. Blocks until its events are acknowledged.
    ~VerbsQueuePair();
    VerbsQueuePair(const VerbsQueuePair&) = delete;
    VerbsQueuePair& operator=(const VerbsQueuePair&) = delete;

    static VerbsQueuePair& of(ibv_qp* qp) { return of(reinterpret_cast<ibv_qp_ex*>(qp)); }
    static VerbsQueuePair& of(ibv_qp_ex* qp) { return AbiHandle<ibv_qp_ex, VerbsQueuePair>::object_of(qp); }
    ibv_qp* abi() { return &handle_.abi.qp_base; }
    ibv_qp_ex* extended() { return builder_ ? &handle_.abi : nullptr; }

    Result<void> modify(const ibv_qp_attr& attributes, int mask);
    void query(ibv_qp_attr& attributes, ibv_qp_init_attr& made_with);

    /// Attaching twice is no error and counts once. On the soft fabric a group has an MLID as well.
    Result<void> attach(const wire::Gid& mgid, wire::Lid mlid);
    Result<void> detach(const wire::Gid& mgid, wire::Lid mlid);
    bool attached();

    int post_send(ibv_send_wr* list, ibv_send_wr** bad) noexcept;
    int post_receive(ibv_recv_wr* list, ibv_recv_wr** bad) noexcept;
    int bind_window(ibv_mw& window, const ibv_mw_bind& bind) noexcept;

    // ibv_wr_...
    void start_work() noexcept;
    int complete_work() noexcept;
    void abort_work() noexcept;
    WorkBuilder& builder() { return *builder_; }

    rdma::QueuePair& native() { return *native_; }
    /// Its context is closed: stops sending and receiving, unless it is an XRC target that other contexts have opened.
    void silence();

private:
    VerbsQueuePair(Context& context, const ibv_qp_init_attr_ex& attributes, const QueuePairParts& parts,
                   std::unique_ptr<rdma::QueuePair> native);
    void notify(const transport::AsyncEvent& event);
    Context& context() { return Context::of(handle_.abi.qp_base.context); }

    ibv_qp_state state() const { return static_cast<ibv_qp_state>(native_->state()); }
    void remember(const ibv_qp_attr& from, int mask);
    Result<void> move(ibv_qp_state from, ibv_qp_state to, int mask);
    Result<void> move_shared(ibv_qp_state to);
    void close_shared();
    Result<void> to_init();
    Result<void> to_rtr();
    Result<void> to_rts(ibv_qp_state from, int mask);
    Result<void> change(int mask);
    rdma::ReadyToSend ready_to_send() const;

    Context::Hold hold_;
    AbiHandle<ibv_qp_ex, VerbsQueuePair> handle_;
    QueuePairParts parts_;
    std::unique_ptr<rdma::QueuePair> native_;
    std::optional<WorkBuilder> builder_;
    SpinLock send_lock_, receive_lock_;
    std::mutex modify_mutex_;
    std::mutex groups_mutex_;
    std::set<std::pair<wire::Gid, wire::Lid>> groups_;
    bool closed_ = false;  ///< at the node, which it shares a target by
    ibv_qp_attr attributes_{};
    ibv_qp_init_attr made_with_{};
};

ibv_qp* create_qp_ex(ibv_context* context, ibv_qp_init_attr_ex* attributes);
ibv_qp* open_qp(ibv_context* context, ibv_qp_open_attr* attributes);
int post_send(ibv_qp* qp, ibv_send_wr* list, ibv_send_wr** bad);
int post_recv(ibv_qp* qp, ibv_recv_wr* list, ibv_recv_wr** bad);
int bind_mw(ibv_qp* qp, ibv_mw* mw, ibv_mw_bind* bind);
/// Sets the functions of an extended queue pair.
void set_work_operations(ibv_qp_ex& qp);

}  // namespace verbline::verbs
