// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// Writes one frame after the other: the next flow, the next size, the next number.

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

#include "datapath/traffic/frame_template.h"
#include "datapath/wire/bytes.h"

namespace verbline::traffic {

/// The flows of one writer: from `first` to before `end`, over and over.
struct FlowSlice {
    std::uint64_t first = 0, end = 1;

    /// Part `index` of `parts`, of `flows` in all. A flow is of one part; with fewer flows than parts, of several.
    static FlowSlice of(std::uint64_t flows, std::uint64_t index, std::uint64_t parts) {
        if (flows < parts) return {index % flows, index % flows + 1};
        return {flows * index / parts, flows * (index + 1) / parts};
    }
};

/// Which flow is next, as the digits of its number (frame_spec.h): the next one is found without a division.
class FlowCursor {
public:
    FlowCursor(const std::vector<VaryingField>& fields, FlowSlice slice) : slice_(slice), next_(slice.first) {
        auto rest = slice.first;
        for (std::size_t i = 0; i < fields.size(); ++i) {
            first_[i] = static_cast<std::uint32_t>(rest % fields[i].count);
            rest /= fields[i].count;
        }
        digits_ = first_;
    }

    std::uint32_t digit(std::size_t field) const { return digits_[field]; }
    void advance(const std::vector<VaryingField>& fields) {
        if (++next_ == slice_.end) {
            next_ = slice_.first;
            digits_ = first_;
            return;
        }
        for (std::size_t i = 0; i < fields.size() && ++digits_[i] == fields[i].count; ++i) digits_[i] = 0;
    }

private:
    static constexpr std::size_t max_fields = 8;

    FlowSlice slice_;
    std::uint64_t next_;
    std::array<std::uint32_t, max_fields> first_{}, digits_{};
};

class FrameWriter {
public:
    /// What a buffer must have room for at least, although most frames need less.
    static constexpr std::size_t room = max_head;

    /// The template outlives the writer.
    FrameWriter(const FrameTemplate& frames, FlowSlice slice, std::uint8_t run, std::uint8_t stream)
        : frames_(frames), cursor_(frames.fields(), slice), run_(run), stream_(stream) {}

    std::uint64_t written() const { return sequence_; }

    /// Writes the next frame into a buffer that has room for it, and returns its length. Behind the head, which is all
    /// that most kinds have, the buffer holds zeros, or the ICRCs of frames of this template.
    std::uint16_t write(std::span<std::byte> out, std::uint64_t time) noexcept {
        const auto size = frames_.period()[position_];
        const auto& prototype = frames_.prototypes()[size];
        if (++position_ == frames_.period().size()) position_ = 0;
        // Of fixed sizes, which need no call: frames of IPv4 and UDP need the first part only.
        for (std::size_t at = 0; at < frames_.stamp_at() + Stamp::size; at += part)
            std::memcpy(out.data() + at, prototype.head.data() + at, part);

        auto ip = prototype.ip_sum;
        auto l4 = prototype.l4_sum;
        const auto& fields = frames_.fields();
        if (!fields.empty()) {
            for (std::size_t i = 0; i < fields.size(); ++i) vary(fields[i], cursor_.digit(i), out, ip, l4);
            cursor_.advance(fields);
        }
        if (frames_.ip_checksum_at() != 0) store_checksum(out, frames_.ip_checksum_at(), ip);

        const Stamp stamp{run_, stream_, sequence_++, time};
        stamp.emit(out.subspan(frames_.stamp_at()).first<Stamp::size>());
        if (frames_.l4_checksum_at() != 0) store_l4_checksum(out, l4);
        if (frames_.icrc()) store_icrc(out, size);
        return prototype.length;
    }

private:
    static constexpr std::size_t part = 64;
    static_assert(max_head % part == 0);

    /// The sum of the 16-bit words of `value`, wherever they are: addition does not know an order.
    static std::uint32_t words(std::uint32_t value) { return (value & 0xffff) + (value >> 16); }
    static std::uint16_t folded(std::uint32_t sum) {
        sum = (sum & 0xffff) + (sum >> 16);
        return static_cast<std::uint16_t>(sum + (sum >> 16));
    }

    static void vary(const VaryingField& field, std::uint32_t digit, wire::MutableBytes out, std::uint32_t& ip,
                     std::uint32_t& l4) {
        const auto value = field.first + digit;
        if (field.width == 2) {
            wire::store16(out, field.at, value);
        } else {
            wire::store32(out, field.at, value);
        }
        if (field.in_ip_sum) ip += words(value);
        if (field.in_l4_sum) l4 += words(value);
    }
    static void store_checksum(wire::MutableBytes out, std::size_t at, std::uint32_t sum) {
        wire::store16(out, at, static_cast<std::uint16_t>(~folded(sum)));
    }
    void store_l4_checksum(wire::MutableBytes out, std::uint32_t sum) const {
        auto checksum = static_cast<std::uint16_t>(~folded(sum));
        // A UDP checksum of 0 says that there is none (RFC 768).
        if (checksum == 0 && frames_.transport() == Transport::udp) checksum = UINT16_MAX;
        wire::store16(out, frames_.l4_checksum_at(), checksum);
    }
    void store_icrc(wire::MutableBytes out, std::size_t size) const {
        const auto& covered = *frames_.icrc();
        const auto& prototypes = frames_.prototypes();
        // What frames of other sizes left in this buffer is payload now, and must be zeros.
        for (const auto& other : prototypes) {
            if (other.icrc_at < prototypes[size].length) wire::store32(out, other.icrc_at, 0);
        }
        auto icrc = *wire::Icrc::begin(covered.over, out.subspan(covered.begin, covered.size));
        icrc.add(covered.zeros[size]);
        std::ranges::copy(icrc.bytes(), out.subspan(prototypes[size].icrc_at).begin());
    }

    const FrameTemplate& frames_;
    FlowCursor cursor_;
    std::size_t position_ = 0;  ///< in the period of sizes
    std::uint64_t sequence_ = 0;
    std::uint8_t run_, stream_;
};

}  // namespace verbline::traffic
