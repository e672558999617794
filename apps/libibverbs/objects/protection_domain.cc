// SPDX-License-Identifier: BSD-3-Clause
#include "apps/libibverbs/objects/protection_domain.h"

namespace verbline::verbs {

ProtectionDomain::ProtectionDomain(Context& context, memory::PdId id) : hold_(context), id_(id) {
    handle_ = {{.context = context.abi(), .handle = static_cast<std::uint32_t>(id)}, this};
    context.port().share(SharedKind::protection_domain, handle_.abi.handle, this);
}

ProtectionDomain::ProtectionDomain(Context& context, ProtectionDomain& original, ThreadDomain* thread)
    : hold_(context), id_(original.id_), original_(&original), thread_(thread) {
    handle_ = {{.context = context.abi(), .handle = original.handle_.abi.handle}, this};
    ++original.users;
    if (thread != nullptr) ++thread->users;
}

ProtectionDomain::~ProtectionDomain() {
    if (original_ == nullptr) context().port().unshare(SharedKind::protection_domain, handle_.abi.handle);
    if (original_ != nullptr) --original_->users;
    if (thread_ != nullptr) --thread_->users;
}

ibv_td* alloc_td(ibv_context* context, ibv_td_init_attr* attributes) {
    return made([&] -> Result<ibv_td*> {
        if (attributes->comp_mask != 0) return failure(EOPNOTSUPP, "unknown attributes");
        auto& opened = Context::of(context);
        if (!opened.alive()) return failure(EIO, "the context is that of a parent process");
        return (new ThreadDomain(opened))->abi();
    });
}

int dealloc_td(ibv_td* td) {
    auto& domain = ThreadDomain::of(td);
    if (domain.users != 0) return EBUSY;
    delete &domain;
    return 0;
}

ibv_pd* alloc_parent_domain(ibv_context* context, ibv_parent_domain_init_attr* attributes) {
    return made([&] -> Result<ibv_pd*> {
        constexpr unsigned known = IBV_PARENT_DOMAIN_INIT_ATTR_ALLOCATORS | IBV_PARENT_DOMAIN_INIT_ATTR_PD_CONTEXT;
        if (!Context::of(context).alive()) return failure(EIO, "the context is that of a parent process");
        if (attributes->pd == nullptr) return failure(EINVAL, "a parent domain needs a protection domain");
        // Allocators are for memory that hardware shares with the program. There is none here; they are never called.
        if ((attributes->comp_mask & ~known) != 0) return failure(EOPNOTSUPP, "unknown attributes");
        auto* const thread = attributes->td != nullptr ? &ThreadDomain::of(attributes->td) : nullptr;
        return (new ProtectionDomain(Context::of(context), ProtectionDomain::of(attributes->pd), thread))->abi();
    });
}

extern "C" {

ibv_pd* ibv_alloc_pd(ibv_context* context) {
    return made([&] -> Result<ibv_pd*> {
        auto& opened = Context::of(context);
        if (!opened.alive()) return failure(EIO, "the context is that of a parent process");
        return (new ProtectionDomain(opened, opened.device().allocate_pd()))->abi();
    });
}

int ibv_dealloc_pd(ibv_pd* pd) {
    if (!Context::of(pd->context).alive()) return 0;
    auto& domain = ProtectionDomain::of(pd);
    if (domain.users != 0) return EBUSY;
    delete &domain;
    return 0;
}

ibv_pd* ibv_import_pd(ibv_context* context, std::uint32_t handle) {
    return made([&] -> Result<ibv_pd*> {
        auto& opened = Context::of(context);
        auto* const original =
            static_cast<ProtectionDomain*>(opened.port().shared(SharedKind::protection_domain, handle));
        if (original == nullptr) return failure(ENOENT, "there is no such protection domain");
        // Another handle of the same domain: objects created with it may outlive it (ibv_import_pd(3)).
        auto imported = std::make_unique<AbiHandle<ibv_pd, ProtectionDomain>>();
        *imported = {*original->abi(), original};
        imported->abi.context = context;
        ++original->users;
        return &imported.release()->abi;
    });
}

void ibv_unimport_pd(ibv_pd* pd) {
    --ProtectionDomain::of(pd).users;
    delete reinterpret_cast<AbiHandle<ibv_pd, ProtectionDomain>*>(pd);
}

}  // extern "C"

}  // namespace verbline::verbs
