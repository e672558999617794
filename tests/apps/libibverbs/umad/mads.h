// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// MADs for tests of the umad engine.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "control/mad/transport.h"
#include "datapath/wire/bytes.h"
#include "datapath/wire/mad.h"
#include "datapath/wire/sa.h"

namespace verbline::verbs {

constexpr auto sa_class = wire::MadClass::subnet_administration, vendor_class = wire::MadClass{0x32};
constexpr std::uint32_t vendor = 0x001405;

inline std::vector<std::byte> mad_of(wire::MadClass of, wire::MadMethod method, std::uint64_t transaction,
                                     std::size_t size = wire::mad_size, std::uint8_t version = 1) {
    std::vector<std::byte> mad(size);
    wire::Mad{.management_class = of, .class_version = version, .method = method, .transaction = transaction}.emit(
        std::span(mad).first<wire::Mad::size>());
    if (of == vendor_class && size >= 40) wire::store32(mad, 36, vendor);
    return mad;
}

/// Marks it as a message that RMPP is to send.
inline std::vector<std::byte> segmented(std::vector<std::byte> mad) {
    wire::Rmpp{.version = 1, .flags = wire::rmpp_flag::active}.emit(
        std::span(mad).subspan(wire::rmpp_offset).first<wire::Rmpp::size>());
    return mad;
}

inline mad::MadBuffer buffer_of(std::span<const std::byte> mad) {
    mad::MadBuffer buffer{};
    std::copy_n(mad.begin(), std::min(mad.size(), buffer.size()), buffer.begin());
    return buffer;
}

inline wire::Mad header_of_mad(std::span<const std::byte> mad) {
    return wire::Mad::parse(mad).value_or(wire::Mad{});
}

/// The answer to a request, as its far end makes it.
inline mad::MadBuffer answer_to(std::span<const std::byte> request) {
    auto answer = buffer_of(request);
    answer[3] |= std::byte{0x80};
    return answer;
}

}  // namespace verbline::verbs
