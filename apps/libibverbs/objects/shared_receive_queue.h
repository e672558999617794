// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// Shared receive queues and XRC domains.

#include <atomic>
#include <memory>
#include <optional>

#include <infiniband/verbs.h>

#include "apps/libibverbs/objects/abi_handle.h"
#include "apps/libibverbs/objects/completion_queue.h"
#include "apps/libibverbs/objects/protection_domain.h"
#include "apps/libibverbs/port/spin_lock.h"
#include "apps/libibverbs/port/xrc_sharing.h"
#include "datapath/rdma/shared_receive_queue.h"

namespace verbline::verbs {

/// Domains opened on the same file (ibv_open_xrcd) are one: within a process and, on a node, among all of its programs.
/// Elsewhere other processes have devices, and so domains, of their own.
class XrcDomain {
public:
    XrcDomain(Context& context, rdma::XrcDomain native) : hold_(context), native_(native) {
        handle_ = {{.context = context.abi()}, this};
    }
    XrcDomain(Context& context, const SharedDomain& shared) : XrcDomain(context, shared.native) { shared_ = shared; }
    static XrcDomain& of(ibv_xrcd* domain) { return AbiHandle<ibv_xrcd, XrcDomain>::object_of(domain); }
    ibv_xrcd* abi() { return &handle_.abi; }
    const rdma::XrcDomain& native() const { return native_; }
    /// Null: no other program has it.
    const SharedDomain* shared() const { return shared_ ? &*shared_ : nullptr; }

    std::atomic<unsigned> users{0};

private:
    Context::Hold hold_;
    AbiHandle<ibv_xrcd, XrcDomain> handle_;
    rdma::XrcDomain native_;
    std::optional<SharedDomain> shared_;
};

class SharedReceiveQueue {
public:
    static Result<SharedReceiveQueue*> create(Context& context, ProtectionDomain& domain, void* srq_context,
                                              ibv_srq_attr& attributes, XrcDomain* xrc, CompletionQueue* completions);
    ~SharedReceiveQueue();
    SharedReceiveQueue(const SharedReceiveQueue&) = delete;
    SharedReceiveQueue& operator=(const SharedReceiveQueue&) = delete;

    static SharedReceiveQueue& of(ibv_srq* srq) { return AbiHandle<ibv_srq, SharedReceiveQueue>::object_of(srq); }
    ibv_srq* abi() { return &handle_.abi; }
    rdma::SharedReceiveQueue& native() { return *native_; }
    bool xrc() const { return xrc_ != nullptr; }

    int post(ibv_recv_wr* list, ibv_recv_wr** bad) noexcept;
    Result<void> modify(const ibv_srq_attr& attributes, int mask);
    void query(ibv_srq_attr& attributes) const;

    std::atomic<unsigned> users{0};  ///< queue pairs

private:
    SharedReceiveQueue(ProtectionDomain& domain, void* srq_context, std::unique_ptr<rdma::SharedReceiveQueue> native,
                       XrcDomain* xrc, CompletionQueue* completions);
    Context& context() { return Context::of(handle_.abi.context); }

    AbiHandle<ibv_srq, SharedReceiveQueue> handle_;
    ProtectionDomain& domain_;
    std::unique_ptr<rdma::SharedReceiveQueue> native_;
    XrcDomain* xrc_;
    CompletionQueue* completions_;
    SpinLock lock_;
};

ibv_xrcd* open_xrcd(ibv_context* context, ibv_xrcd_init_attr* attributes);
int close_xrcd(ibv_xrcd* domain);
ibv_srq* create_srq_ex(ibv_context* context, ibv_srq_init_attr_ex* attributes);
int get_srq_num(ibv_srq* srq, std::uint32_t* number);
int post_srq_recv(ibv_srq* srq, ibv_recv_wr* list, ibv_recv_wr** bad);

}  // namespace verbline::verbs
