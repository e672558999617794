// SPDX-License-Identifier: BSD-3-Clause

/// @file
/// Any received frame: a stamp that is found is in it as it would be sent, and what follows it does not matter.

#include <algorithm>
#include <array>
#include <vector>

#include "datapath/traffic/stamp.h"
#include "tests/fuzz/datapath/packets.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace verbline;
    const auto frame = std::as_bytes(std::span(data, size));
    const auto found = traffic::find_stamp(frame);
    if (!found) return 0;
    std::array<std::byte, traffic::Stamp::size> emitted;
    found->emit(emitted);
    fuzz::expect(!std::ranges::search(frame, emitted).empty());
    std::vector<std::byte> longer(frame.begin(), frame.end());
    longer.resize(size + 7, std::byte{0x5a});
    fuzz::expect(traffic::find_stamp(longer) == found);
    return 0;
}
