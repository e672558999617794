// SPDX-License-Identifier: BSD-3-Clause
#include "control/cm/remote_array.h"

namespace verbline::cm {

namespace {

/// Both halves of the product: every input bit affects every output bit.
std::uint64_t mix(std::uint64_t hash, std::uint64_t word) {
    __extension__ using Wide = unsigned __int128;
    constexpr std::uint64_t odd = 0x9e37'79b9'7f4a'7c15;
    const auto product = static_cast<Wide>(hash ^ word ^ odd) * 0xd1b5'4a32'd192'ed03;
    return static_cast<std::uint64_t>(product) ^ static_cast<std::uint64_t>(product >> 64);
}

}  // namespace

std::uint64_t RemoteHash::operator()(const RemoteEnd& end) const {
    auto hash = mix(seed_, end.owner ^ std::uint64_t{end.number} << 32);
    hash = mix(hash, end.gid.prefix());
    return mix(hash, static_cast<std::uint64_t>(end.gid.interface_id()) + end.number);
}

RemoteArray::RemoteArray(std::size_t size) : entries_(size) {}

/// Index of the entry, or of the empty entry where it would be inserted.
std::size_t RemoteArray::place(const RemoteEnd& end, std::uint64_t hash) const {
    auto i = hash & mask();
    while (entries_[i].id != 0 && entries_[i].end() != end) i = (i + 1) & mask();
    return i;
}

const RemoteEntry* RemoteArray::find(const RemoteEnd& end, std::uint64_t hash) const {
    if (used_ == 0) return nullptr;
    const auto& entry = entries_[place(end, hash)];
    return entry.id == 0 ? nullptr : &entry;
}

RemoteEntry* RemoteArray::find(const RemoteEnd& end, std::uint64_t hash) {
    if (used_ == 0) return nullptr;
    auto& entry = entries_[place(end, hash)];
    return entry.id == 0 ? nullptr : &entry;
}

void RemoteArray::insert(const RemoteEntry& entry, std::uint64_t hash) {
    entries_[place(entry.end(), hash)] = entry;
    ++used_;
}

/// A gap exists, as half of the entries are empty.
std::size_t RemoteArray::first_run() const {
    std::size_t i = 0;
    while (entries_[i].id != 0) ++i;
    return (i + 1) & mask();
}

}  // namespace verbline::cm
