// SPDX-License-Identifier: BSD-3-Clause
#include "pmd/memif/ring.h"

#include <array>
#include <bit>

namespace verbline::pmd::memif {

std::uint64_t* RingMemory::words(std::uint16_t index) const {
    const auto slot = index & (size() - 1u);
    return reinterpret_cast<std::uint64_t*>(start + sizeof(RingHeader) + slot * sizeof(Descriptor));
}

Descriptor RingMemory::descriptor(std::uint16_t index) const {
    auto* const at = words(index);
    return std::bit_cast<Descriptor>(std::array{std::atomic_ref(at[0]).load(std::memory_order_relaxed),
                                                std::atomic_ref(at[1]).load(std::memory_order_relaxed)});
}

void RingMemory::set_descriptor(std::uint16_t index, std::uint16_t flags, std::uint16_t region,
                                std::uint32_t length) const {
    const auto word = std::uint64_t{length} << 32 | std::uint64_t{region} << 16 | flags;
    std::atomic_ref(words(index)[0]).store(word, std::memory_order_relaxed);
}

std::optional<std::span<std::byte>> RingEnd::buffer(const Descriptor& descriptor) const {
    if (descriptor.region >= regions_.size()) return std::nullopt;
    const auto region = regions_[descriptor.region];
    if (std::uint64_t{descriptor.offset} + descriptor.length > region.size()) return std::nullopt;
    return region.subspan(descriptor.offset, descriptor.length);
}

}  // namespace verbline::pmd::memif
