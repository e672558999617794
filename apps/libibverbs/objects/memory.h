// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// Registered memory, windows into it, and memory "of the device", which here is memory like any other.

#include <atomic>
#include <cstddef>
#include <memory>
#include <span>

#include <infiniband/verbs.h>

#include "apps/libibverbs/objects/abi_handle.h"
#include "apps/libibverbs/objects/protection_domain.h"
#include "datapath/rdma/memory_region.h"

namespace verbline::verbs {

class DeviceMemory {
public:
    DeviceMemory(Context& context, std::size_t size, std::size_t alignment);
    ~DeviceMemory();
    DeviceMemory(const DeviceMemory&) = delete;
    DeviceMemory& operator=(const DeviceMemory&) = delete;

    static DeviceMemory& of(ibv_dm* dm) { return AbiHandle<ibv_dm, DeviceMemory>::object_of(dm); }
    ibv_dm* abi() { return &handle_.abi; }
    std::span<std::byte> bytes() const { return {bytes_.get(), size_}; }

    std::atomic<unsigned> users{0};  ///< registered regions

private:
    struct Free {
        void operator()(std::byte* memory) const { std::free(memory); }
    };
    Context::Hold hold_;
    AbiHandle<ibv_dm, DeviceMemory> handle_;
    std::unique_ptr<std::byte, Free> bytes_;
    std::size_t size_;
};

class MemoryRegion {
public:
    MemoryRegion(ProtectionDomain& domain, void* start, const memory::RegionAttributes& attributes,
                 rdma::MemoryRegion native, DeviceMemory* device_memory);
    ~MemoryRegion();
    MemoryRegion(const MemoryRegion&) = delete;
    MemoryRegion& operator=(const MemoryRegion&) = delete;

    static MemoryRegion& of(ibv_mr* mr) { return AbiHandle<ibv_mr, MemoryRegion>::object_of(mr); }
    ibv_mr* abi() { return &handle_.abi; }

    /// EBUSY: windows are bound to it.
    Result<void> release() { return native_.release(); }
    Result<void> change(int flags, ProtectionDomain* domain, std::span<std::byte> bytes, int access);

    std::atomic<unsigned> imports{0};

private:
    AbiHandle<ibv_mr, MemoryRegion> handle_;
    ProtectionDomain* domain_;
    memory::RegionAttributes attributes_;
    rdma::MemoryRegion native_;
    DeviceMemory* device_memory_;
};

ibv_mr* reg_dm_mr(ibv_pd* pd, ibv_dm* dm, std::uint64_t offset, std::size_t length, unsigned access);
ibv_dm* alloc_dm(ibv_context* context, ibv_alloc_dm_attr* attributes);
int free_dm(ibv_dm* dm);
ibv_mw* alloc_mw(ibv_pd* pd, ibv_mw_type type);
int dealloc_mw(ibv_mw* mw);
int advise_mr(ibv_pd* pd, ibv_advise_mr_advice advice, std::uint32_t flags, ibv_sge* list, std::uint32_t count);

}  // namespace verbline::verbs
