// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// Protection domains and their derivatives: thread domains; parent domains, which are further handles of one;
/// imported domains, which are further handles of one too.

#include <atomic>
#include <memory>
#include <optional>

#include <infiniband/verbs.h>

#include "apps/libibverbs/objects/abi_handle.h"
#include "apps/libibverbs/objects/context.h"

namespace verbline::verbs {

/// A promise that only one thread at a time uses the objects created with it. No use is made of it: uncontended locks
/// are cheap.
class ThreadDomain {
public:
    explicit ThreadDomain(Context& context) : hold_(context) { handle_ = {{.context = context.abi()}, this}; }
    static ThreadDomain& of(ibv_td* td) { return AbiHandle<ibv_td, ThreadDomain>::object_of(td); }
    ibv_td* abi() { return &handle_.abi; }

    std::atomic<unsigned> users{0};

private:
    Context::Hold hold_;
    AbiHandle<ibv_td, ThreadDomain> handle_;
};

class ProtectionDomain {
public:
    ProtectionDomain(Context& context, memory::PdId id);
    /// Another handle of the same domain; the original cannot be destroyed (EBUSY) while one exists.
    ProtectionDomain(Context& context, ProtectionDomain& original, ThreadDomain* thread);
    ~ProtectionDomain();
    ProtectionDomain(const ProtectionDomain&) = delete;
    ProtectionDomain& operator=(const ProtectionDomain&) = delete;

    static ProtectionDomain& of(ibv_pd* pd) { return AbiHandle<ibv_pd, ProtectionDomain>::object_of(pd); }
    ibv_pd* abi() { return &handle_.abi; }

    memory::PdId id() const { return id_; }
    Context& context() { return Context::of(handle_.abi.context); }

    std::atomic<unsigned> users{0};  ///< objects created with this handle

private:
    Context::Hold hold_;
    AbiHandle<ibv_pd, ProtectionDomain> handle_;
    memory::PdId id_;
    ProtectionDomain* original_ = nullptr;
    ThreadDomain* thread_ = nullptr;
};

ibv_td* alloc_td(ibv_context* context, ibv_td_init_attr* attributes);
int dealloc_td(ibv_td* td);
ibv_pd* alloc_parent_domain(ibv_context* context, ibv_parent_domain_init_attr* attributes);

}  // namespace verbline::verbs
