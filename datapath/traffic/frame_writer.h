// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// Writes one frame after the other: the next flow, the next size, the next number.

#include <array>
#include <bit>
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
    static constexpr std::size_t max_fields = 7;

    FlowSlice slice_;
    std::uint64_t next_;
    std::array<std::uint32_t, max_fields> first_{}, digits_{};
};

class FrameWriter {
public:
    /// What a buffer must have room for, although most frames need less.
    static constexpr std::size_t room = max_head;

    /// The template outlives the writer.
    FrameWriter(const FrameTemplate& frames, FlowSlice slice, std::uint8_t run, std::uint8_t stream)
        : frames_(frames), cursor_(frames.fields(), slice), run_(run), stream_(stream) {}

    std::uint64_t written() const { return sequence_; }

    /// Writes the head of the next frame, headers and stamp, and returns the frame's length. What follows up to that
    /// length must be zeros.
    std::uint16_t write(std::span<std::byte, room> out, std::uint64_t time) noexcept {
        const auto& prototype = frames_.prototypes()[frames_.period()[position_]];
        if (++position_ == frames_.period().size()) position_ = 0;
        // Of fixed sizes, which need no call: frames of IPv4 and UDP need the first part only.
        std::memcpy(out.data(), prototype.head.data(), short_head);
        if (frames_.stamp_at() + Stamp::size > short_head)
            std::memcpy(out.data() + short_head, prototype.head.data() + short_head, room - short_head);

        auto ip = prototype.ip_sum;
        auto l4 = prototype.l4_sum;
        const auto& fields = frames_.fields();
        if (!fields.empty()) {
            for (std::size_t i = 0; i < fields.size(); ++i) vary(fields[i], cursor_.digit(i), out, ip, l4);
            cursor_.advance(fields);
        }
        if (frames_.ip_checksum_at() != 0) store_checksum(out, frames_.ip_checksum_at(), ip);

        const Stamp stamp{run_, stream_, sequence_++, time};
        stamp.emit(wire::MutableBytes(out).subspan(frames_.stamp_at()).first<Stamp::size>());
        store_l4_checksum(out, l4);
        return prototype.length;
    }

private:
    static constexpr std::size_t short_head = 64;

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

    const FrameTemplate& frames_;
    FlowCursor cursor_;
    std::size_t position_ = 0;  ///< in the period of sizes
    std::uint64_t sequence_ = 0;
    std::uint8_t run_, stream_;
};

}  // namespace verbline::traffic
