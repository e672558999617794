// SPDX-License-Identifier: BSD-3-Clause
#include "apps/libibverbs/umad/rmpp_receiver.h"

#include <algorithm>

#include "apps/libibverbs/umad/mad_class.h"

namespace verbline::verbs {
namespace {

std::size_t headers_of(mad::MadBytes segment) {
    return data_offset(wire::MadClass{static_cast<std::uint8_t>(segment[1])});
}

/// Bytes of data in the last segment. A length that cannot be is taken for a full segment, as the kernel does.
std::size_t data_in_last(mad::MadBytes segment) {
    const auto header = wire::Rmpp::parse(segment.subspan(wire::rmpp_offset)).value_or(wire::Rmpp{});
    const auto headers = headers_of(segment), class_headers = headers - wire::sa_header_offset;
    const bool possible = header.length >= class_headers && header.length <= wire::mad_size - wire::sa_header_offset;
    const bool alone = (header.flags & wire::rmpp_flag::first) != 0;  // then it is of the whole transfer: the same
    return possible || alone
               ? std::clamp<std::size_t>(header.length, class_headers, wire::mad_size - wire::sa_header_offset) -
                     class_headers
               : wire::mad_size - headers;
}

}  // namespace

void RmppReceiver::append(const mad::MadBuffer& segment) {
    ++received_;
    const auto headers = headers_of(segment);
    const auto end = received_ == last_ ? headers + data_in_last(segment) : segment.size();
    const auto from = message_.empty() ? 0 : headers;
    message_.insert(message_.end(), segment.begin() + static_cast<std::ptrdiff_t>(from),
                    segment.begin() + static_cast<std::ptrdiff_t>(end));
}

/// The segment's headers with the other direction's method (13.6.2.2).
mad::MadBuffer RmppReceiver::acknowledgement(mad::MadBytes segment) const {
    constexpr std::byte response{0x80};
    constexpr std::size_t method = 3;
    mad::MadBuffer ack{};
    std::ranges::copy(segment.first(headers_of(segment)), ack.begin());
    ack[method] ^= response;
    wire::Rmpp{.version = 1,
               .type = wire::RmppType::ack,
               .flags = wire::rmpp_flag::active,
               .segment = received_,
               .length = granted_}
        .emit(std::span(ack).subspan<wire::rmpp_offset, wire::Rmpp::size>());
    return ack;
}

std::optional<mad::MadBuffer> RmppReceiver::received(mad::MadBytes segment, const wire::Rmpp& header) {
    if (header.segment == 0 || header.segment > granted_) return std::nullopt;
    if (header.segment <= received_) return acknowledgement(segment);  // repeated: the acknowledgement was lost
    if (last_ != 0 && header.segment > last_) return std::nullopt;
    if ((header.flags & wire::rmpp_flag::last) != 0 && last_ == 0) last_ = header.segment;
    mad::MadBuffer kept{};
    std::ranges::copy(segment, kept.begin());
    ahead_.emplace(header.segment, kept);
    for (auto next = ahead_.find(received_ + 1); next != ahead_.end(); next = ahead_.find(received_ + 1)) {
        append(next->second);
        ahead_.erase(next);
        if (complete()) break;
    }
    if (complete()) {
        ahead_.clear();
        granted_ = received_;
        return acknowledgement(segment);
    }
    if (received_ == 1 && header.segment == 1) return acknowledgement(segment);  // opens the sender's window
    if (received_ < granted_) return std::nullopt;
    granted_ = received_ + window;
    return acknowledgement(segment);
}

}  // namespace verbline::verbs
