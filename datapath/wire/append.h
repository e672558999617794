// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// Headers behind each other, in a packet that is being built.

#include <cstddef>
#include <span>
#include <vector>

namespace verbline::wire {

/// Appends a header, in wire format.
template <class Header>
void append(std::vector<std::byte>& packet, const Header& header) {
    packet.resize(packet.size() + Header::size);
    header.emit(std::span(packet).template last<Header::size>());
}

}  // namespace verbline::wire
