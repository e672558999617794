// SPDX-License-Identifier: BSD-3-Clause
// Device memory: ordinary memory here, which the program accesses by copies or RDMA only.
#include <algorithm>
#include <bit>
#include <cstdlib>
#include <cstring>

#include "apps/libibverbs/abi/convert.h"
#include "apps/libibverbs/objects/limits.h"
#include "apps/libibverbs/objects/memory.h"

namespace verbline::verbs {
namespace {

std::atomic<std::uint32_t>& next_handle() {
    static std::atomic<std::uint32_t> next{1};
    return next;
}

/// Device memory is accessed in words of four bytes; programs and their tests expect other accesses to fail.
constexpr std::uint64_t word = 4;

bool in_words(std::uint64_t offset, std::size_t length) {
    return offset % word == 0 && length % word == 0;
}

/// Empty if the range is not entirely inside.
std::span<std::byte> part(ibv_dm* dm, std::uint64_t offset, std::size_t length) {
    const auto bytes = DeviceMemory::of(dm).bytes();
    if (offset > bytes.size() || length > bytes.size() - offset) return {};
    return bytes.subspan(offset, length);
}

int copy_to(ibv_dm* dm, std::uint64_t offset, const void* from, std::size_t length) {
    const auto to = part(dm, offset, length);
    if (!in_words(offset, length) || to.size() != length) return EFAULT;
    std::memcpy(to.data(), from, length);
    return 0;
}

int copy_from(void* to, ibv_dm* dm, std::uint64_t offset, std::size_t length) {
    const auto from = part(dm, offset, length);
    if (!in_words(offset, length) || from.size() != length) return EFAULT;
    std::memcpy(to, from.data(), length);
    return 0;
}

}  // namespace

DeviceMemory::DeviceMemory(Context& context, std::size_t size, std::size_t alignment)
    : hold_(context),
      bytes_(static_cast<std::byte*>(std::aligned_alloc(alignment, (size + alignment - 1) / alignment * alignment))),
      size_(size) {
    if (bytes_ == nullptr) throw std::bad_alloc();
    std::memset(bytes_.get(), 0, size);
    handle_ = {{.context = context.abi(),
                .memcpy_to_dm = copy_to,
                .memcpy_from_dm = copy_from,
                .comp_mask = IBV_DM_MASK_HANDLE,
                .handle = next_handle()++},
               this};
    // Skipped in a child: the thread that held the lock in the parent may not exist here.
    if (context.alive()) context.port().share(SharedKind::device_memory, handle_.abi.handle, this);
}

DeviceMemory::~DeviceMemory() {
    Context::of(handle_.abi.context).port().unshare(SharedKind::device_memory, handle_.abi.handle);
}

ibv_dm* alloc_dm(ibv_context* context, ibv_alloc_dm_attr* attributes) {
    return made([&] -> Result<ibv_dm*> {
        constexpr std::uint32_t largest_alignment = 21;
        // In the child of a fork, too: it is memory, and needs no engine.
        if (attributes->comp_mask != 0) return failure(EOPNOTSUPP, "unknown attributes");
        if (attributes->log_align_req > largest_alignment) return failure(EINVAL, "alignment");
        if (attributes->length == 0 || attributes->length > limits::device_memory) return failure(EINVAL, "length");
        const auto alignment = std::max(std::size_t{1} << attributes->log_align_req, alignof(std::max_align_t));
        return (new DeviceMemory(Context::of(context), attributes->length, alignment))->abi();
    });
}

int free_dm(ibv_dm* dm) {
    if (!Context::of(dm->context).alive()) return 0;
    auto& memory = DeviceMemory::of(dm);
    if (memory.users != 0) return errno = EBUSY;
    delete &memory;
    return 0;
}

ibv_mr* reg_dm_mr(ibv_pd* pd, ibv_dm* dm, std::uint64_t offset, std::size_t length, unsigned access) {
    return made([&] -> Result<ibv_mr*> {
        // It has no address in the program: accesses are zero-based (ibv_reg_dm_mr(3)).
        if ((access & IBV_ACCESS_ZERO_BASED) == 0) return failure(EINVAL, "device memory is zero based");
        const auto bytes = part(dm, offset, length);
        if (bytes.size() != length || !in_words(offset, 0)) return failure(EINVAL, "outside of the device memory");
        auto& domain = ProtectionDomain::of(pd);
        if (!domain.context().alive()) return failure(EIO, "the context is that of a parent process");
        const auto rights = to_access(access);
        auto native = domain.context().device().register_memory(domain.id(), bytes, 0, rights);
        if (!native) return std::unexpected(native.error());
        const memory::RegionAttributes attributes{
            .pd = domain.id(), .base = bytes.data(), .length = length, .iova = 0, .rights = rights};
        return (new MemoryRegion(domain, nullptr, attributes, std::move(*native), &DeviceMemory::of(dm)))->abi();
    });
}

extern "C" {

ibv_dm* ibv_import_dm(ibv_context* context, std::uint32_t handle) {
    return made([&] -> Result<ibv_dm*> {
        auto* const memory =
            static_cast<DeviceMemory*>(Context::of(context).port().shared(SharedKind::device_memory, handle));
        if (memory == nullptr) return failure(ENOENT, "there is no such device memory");
        auto imported = std::make_unique<AbiHandle<ibv_dm, DeviceMemory>>();
        *imported = {*memory->abi(), memory};
        imported->abi.context = context;
        ++memory->users;
        return &imported.release()->abi;
    });
}

void ibv_unimport_dm(ibv_dm* dm) {
    --DeviceMemory::of(dm).users;
    delete reinterpret_cast<AbiHandle<ibv_dm, DeviceMemory>*>(dm);
}

}  // extern "C"

}  // namespace verbline::verbs
