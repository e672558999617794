// SPDX-License-Identifier: BSD-3-Clause
#include "apps/libibverbs/objects/memory.h"

#include <cstring>

#include <sys/mman.h>
#include <unistd.h>

#include "apps/libibverbs/abi/convert.h"
#include "apps/libibverbs/objects/limits.h"

#undef ibv_reg_mr
#undef ibv_reg_mr_iova

namespace verbline::verbs {
namespace {

/// Checks that the first and the last page are mapped, which a kernel would find out by pinning. On-demand memory may
/// be mapped later.
bool mapped(std::span<const std::byte> bytes) {
    const auto page = static_cast<std::uintptr_t>(sysconf(_SC_PAGESIZE));
    const auto there = [page](std::uintptr_t address) {
        unsigned char resident = 0;
        return mincore(reinterpret_cast<void*>(address & ~(page - 1)), 1, &resident) == 0;
    };
    if (bytes.empty()) return true;
    const auto first = reinterpret_cast<std::uintptr_t>(bytes.data()), last = first + bytes.size() - 1;
    return last >= first && there(first) && there(last);
}

/// A window that another host may write into is of no use where this one may not (IBTA 10.6.3.1).
bool consistent(unsigned access) {
    const bool writable = (access & (IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_ATOMIC)) != 0;
    return !writable || (access & IBV_ACCESS_LOCAL_WRITE) != 0;
}

ibv_mr* register_memory(ibv_pd* pd, void* start, std::size_t length, std::uint64_t iova, unsigned access) {
    return made([&] -> Result<ibv_mr*> {
        auto& domain = ProtectionDomain::of(pd);
        if (!domain.context().alive()) return failure(EIO, "the context is that of a parent process");
        const std::span bytes(static_cast<std::byte*>(start), length);
        if (!memory::has(memory::known_flags, to_access(access))) return failure(EINVAL, "unknown access flags");
        if (!consistent(access)) return failure(EINVAL, "remote write access needs local write access");
        if ((access & IBV_ACCESS_ON_DEMAND) == 0 && !mapped(bytes)) return failure(EFAULT, "there is no memory");
        const auto rights = to_access(access);
        auto native = domain.context().device().register_memory(domain.id(), bytes, iova, rights);
        if (!native) return std::unexpected(native.error());
        const memory::RegionAttributes attributes{
            .pd = domain.id(), .base = bytes.data(), .length = length, .iova = iova, .rights = rights};
        return (new MemoryRegion(domain, start, attributes, std::move(*native), nullptr))->abi();
    });
}

}  // namespace

MemoryRegion::MemoryRegion(ProtectionDomain& domain, void* start, const memory::RegionAttributes& attributes,
                           rdma::MemoryRegion native, DeviceMemory* device_memory)
    : domain_(&domain), attributes_(attributes), native_(std::move(native)), device_memory_(device_memory) {
    const auto key = static_cast<std::uint32_t>(native_.lkey());
    handle_ = {{.context = domain.abi()->context,
                .pd = domain.abi(),
                .addr = start,
                .length = attributes.length,
                .handle = key >> 8,
                .lkey = key,
                .rkey = static_cast<std::uint32_t>(native_.rkey())},
               this};
    domain.context().port().share(SharedKind::memory_region, handle_.abi.handle, this);
    // Last: where there is no memory, it has not been made.
    ++domain_->users;
    if (device_memory_ != nullptr) ++device_memory_->users;
}

MemoryRegion::~MemoryRegion() {
    Context::of(handle_.abi.context).port().unshare(SharedKind::memory_region, handle_.abi.handle);
    --domain_->users;
    if (device_memory_ != nullptr) --device_memory_->users;
}

Result<void> MemoryRegion::change(int flags, ProtectionDomain* domain, std::span<std::byte> bytes, int access) {
    constexpr int known = IBV_REREG_MR_CHANGE_TRANSLATION | IBV_REREG_MR_CHANGE_PD | IBV_REREG_MR_CHANGE_ACCESS;
    if ((flags & ~known) != 0 || flags == 0 || device_memory_ != nullptr) return failure(EINVAL, "flags");
    auto next = attributes_;
    if ((flags & IBV_REREG_MR_CHANGE_PD) != 0) {
        if (domain == nullptr) return failure(EINVAL, "no protection domain is given");
        next.pd = domain->id();
    }
    if ((flags & IBV_REREG_MR_CHANGE_TRANSLATION) != 0) {
        if (bytes.data() == nullptr || bytes.empty()) return failure(EINVAL, "no memory is given");
        next.base = bytes.data();
        next.length = bytes.size();
        next.iova = reinterpret_cast<std::uint64_t>(bytes.data());
    }
    if ((flags & IBV_REREG_MR_CHANGE_ACCESS) != 0) {
        if (!consistent(static_cast<unsigned>(access))) return failure(EINVAL, "access flags");
        next.rights = to_access(static_cast<unsigned>(access));
    }
    if (auto changed = native_.change(next); !changed) return changed;
    attributes_ = next;
    if ((flags & IBV_REREG_MR_CHANGE_PD) != 0) {
        ++domain->users;
        --std::exchange(domain_, domain)->users;
        handle_.abi.pd = domain->abi();
        handle_.abi.context = domain->abi()->context;
    }
    handle_.abi.addr = next.base;
    handle_.abi.length = next.length;
    return {};
}

int advise_mr(ibv_pd* pd, ibv_advise_mr_advice advice, std::uint32_t flags, ibv_sge* list, std::uint32_t count) {
    if ((flags & ~static_cast<std::uint32_t>(IBV_ADVISE_MR_FLAG_FLUSH)) != 0) return EINVAL;
    if (advice != IBV_ADVISE_MR_ADVICE_PREFETCH && advice != IBV_ADVISE_MR_ADVICE_PREFETCH_WRITE &&
        advice != IBV_ADVISE_MR_ADVICE_PREFETCH_NO_FAULT) {
        return EOPNOTSUPP;
    }
    auto& domain = ProtectionDomain::of(pd);
    const auto page = static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
    for (const auto& each : std::span(list, count)) {
        auto* const region =
            static_cast<MemoryRegion*>(domain.context().port().shared(SharedKind::memory_region, each.lkey >> 8));
        if (region == nullptr || region->abi()->lkey != each.lkey || each.length == 0) return EINVAL;
        const auto start = each.addr & ~(page - 1);
        // A hint to the kernel to prefetch the pages; its result is ignored.
        std::ignore = madvise(reinterpret_cast<void*>(start), each.addr + each.length - start, MADV_WILLNEED);
    }
    return 0;
}

namespace {

class MemoryWindow {
public:
    MemoryWindow(ProtectionDomain& domain, ibv_mw_type type, rdma::MemoryWindow native) : native_(std::move(native)) {
        handle_ = {{.context = domain.abi()->context,
                    .pd = domain.abi(),
                    .rkey = static_cast<std::uint32_t>(native_.rkey()),
                    .handle = static_cast<std::uint32_t>(native_.rkey()) >> 8,
                    .type = type},
                   this};
        ++domain.users;
    }
    ~MemoryWindow() { --ProtectionDomain::of(handle_.abi.pd).users; }
    MemoryWindow(const MemoryWindow&) = delete;
    MemoryWindow& operator=(const MemoryWindow&) = delete;

    static MemoryWindow& of(ibv_mw* mw) { return AbiHandle<ibv_mw, MemoryWindow>::object_of(mw); }
    ibv_mw* abi() { return &handle_.abi; }

private:
    AbiHandle<ibv_mw, MemoryWindow> handle_;
    rdma::MemoryWindow native_;
};

}  // namespace

ibv_mw* alloc_mw(ibv_pd* pd, ibv_mw_type type) {
    return made([&] -> Result<ibv_mw*> {
        if (type != IBV_MW_TYPE_1 && type != IBV_MW_TYPE_2) return failure(EINVAL, "unknown type of window");
        auto& domain = ProtectionDomain::of(pd);
        if (!domain.context().alive()) return failure(EIO, "the context is that of a parent process");
        const auto kind = type == IBV_MW_TYPE_1 ? memory::WindowType::type1 : memory::WindowType::type2b;
        auto native = domain.context().device().allocate_window(domain.id(), kind);
        if (!native) return std::unexpected(native.error());
        return (new MemoryWindow(domain, type, std::move(*native)))->abi();
    });
}

int dealloc_mw(ibv_mw* mw) {
    if (!Context::of(mw->context).alive()) return 0;
    delete &MemoryWindow::of(mw);
    return 0;
}

extern "C" {

ibv_mr* ibv_reg_mr(ibv_pd* pd, void* start, std::size_t length, int access) {
    return register_memory(pd, start, length, reinterpret_cast<std::uint64_t>(start), static_cast<unsigned>(access));
}

ibv_mr* ibv_reg_mr_iova(ibv_pd* pd, void* start, std::size_t length, std::uint64_t iova, int access) {
    return register_memory(pd, start, length, iova, static_cast<unsigned>(access));
}

ibv_mr* ibv_reg_mr_iova2(ibv_pd* pd, void* start, std::size_t length, std::uint64_t iova, unsigned access) {
    return register_memory(pd, start, length, iova, access);
}

// Memory of another device, which the CPU may not be able to access.
ibv_mr* ibv_reg_dmabuf_mr(ibv_pd*, std::uint64_t, std::size_t, std::uint64_t, int, int) {
    errno = EOPNOTSUPP;
    return nullptr;
}

int ibv_rereg_mr(ibv_mr* mr, int flags, ibv_pd* pd, void* start, std::size_t length, int access) {
    auto* const domain = pd != nullptr ? &ProtectionDomain::of(pd) : nullptr;
    const int error = done([&] -> Result<void> {
        if (!Context::of(mr->context).alive()) return failure(EIO, "the context is that of a parent process");
        return MemoryRegion::of(mr).change(flags, domain, {static_cast<std::byte*>(start), length}, access);
    });
    return error == 0 ? 0 : IBV_REREG_MR_ERR_INPUT;
}

int ibv_dereg_mr(ibv_mr* mr) {
    if (!Context::of(mr->context).alive()) return 0;
    auto& region = MemoryRegion::of(mr);
    if (region.imports != 0) return errno = EBUSY;
    if (const int error = done([&] { return region.release(); })) return error;
    delete &region;
    return 0;
}

ibv_mr* ibv_import_mr(ibv_pd* pd, std::uint32_t handle) {
    return made([&] -> Result<ibv_mr*> {
        auto& port = ProtectionDomain::of(pd).context().port();
        auto* const region = static_cast<MemoryRegion*>(port.shared(SharedKind::memory_region, handle));
        if (region == nullptr) return failure(ENOENT, "there is no such memory region");
        auto imported = std::make_unique<AbiHandle<ibv_mr, MemoryRegion>>();
        *imported = {*region->abi(), region};
        imported->abi.context = pd->context;
        imported->abi.pd = pd;
        imported->abi.addr = nullptr;  // the region may be another process's (ibv_import_mr(3))
        ++region->imports;
        return &imported.release()->abi;
    });
}

void ibv_unimport_mr(ibv_mr* mr) {
    --MemoryRegion::of(mr).imports;
    delete reinterpret_cast<AbiHandle<ibv_mr, MemoryRegion>*>(mr);
}

}  // extern "C"

}  // namespace verbline::verbs
