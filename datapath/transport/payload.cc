// SPDX-License-Identifier: BSD-3-Clause
#include "datapath/transport/payload.h"

#include <algorithm>
#include <cstring>

#include "datapath/memory/guarded.h"

namespace verbline::transport {
namespace {

/// Calls `each(segment, offset in it, offset in the data, bytes)` for the pieces of [offset, offset + size);
/// local_length_error if the segments end before.
template <class Each>
Status walk(std::span<const Segment> segments, std::uint64_t offset, std::size_t size, Each each) {
    std::size_t done = 0;
    for (const auto& segment : segments) {
        if (done == size) break;
        if (offset >= segment.length) {
            offset -= segment.length;
            continue;
        }
        const auto piece = std::min<std::uint64_t>(size - done, segment.length - offset);
        const auto status = each(segment, offset, done, piece);
        if (status != Status::success) return status;
        done += piece;
        offset = 0;
    }
    return done == size ? Status::success : Status::local_length_error;
}

}  // namespace

Status gather(const SendWork& work, std::uint32_t offset, wire::MutableBytes out, const QueuePairContext& qp,
              const memory::KeyTable& keys) noexcept {
    if (out.empty()) return Status::success;
    if (work.has(send_inline)) {
        std::memcpy(out.data(), work.inline_data().data() + offset, out.size());
        return Status::success;
    }
    return walk(work.segment_list(), offset, out.size(),
                [&](const Segment& segment, std::uint64_t at, std::size_t done, std::uint64_t size) {
                    const auto from =
                        keys.resolve(segment.lkey, qp.pd, qp.qpn, segment.address + at, size, memory::Access::none);
                    if (!from || !memory::guarded_copy(out.data() + done, *from, size)) {
                        return Status::local_protection_error;
                    }
                    return Status::success;
                });
}

Status scatter(std::span<const Segment> segments, std::uint64_t offset, wire::Bytes in, memory::PdId pd, wire::Qpn qpn,
               const memory::KeyTable& keys) noexcept {
    return walk(segments, offset, in.size(),
                [&](const Segment& segment, std::uint64_t at, std::size_t done, std::uint64_t size) {
                    const auto to =
                        keys.resolve(segment.lkey, pd, qpn, segment.address + at, size, memory::Access::local_write);
                    if (!to || !memory::guarded_copy(*to, in.data() + done, size)) {
                        return Status::local_protection_error;
                    }
                    return Status::success;
                });
}

Status scatter(std::span<const Segment> segments, std::span<const wire::Bytes> pieces, memory::PdId pd, wire::Qpn qpn,
               const memory::KeyTable& keys) noexcept {
    std::uint64_t size = 0;
    for (const auto& piece : pieces) size += piece.size();
    if (!segments.empty() && size <= segments.front().length) [[likely]] {
        const auto& segment = segments.front();
        const auto to = keys.resolve(segment.lkey, pd, qpn, segment.address, size, memory::Access::local_write);
        if (!to) return Status::local_protection_error;
        auto* at = *to;
        for (const auto& piece : pieces) {
            if (!memory::guarded_copy(at, piece.data(), piece.size())) return Status::local_protection_error;
            at += piece.size();
        }
        return Status::success;
    }
    std::uint64_t offset = 0;
    for (const auto& piece : pieces) {
        const auto status = scatter(segments, offset, piece, pd, qpn, keys);
        if (status != Status::success) return status;
        offset += piece.size();
    }
    return Status::success;
}

}  // namespace verbline::transport
