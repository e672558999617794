// SPDX-License-Identifier: BSD-3-Clause
// Every header is parsed from the same bytes. What parses must come out of `emit` as a header that parses to the same
// value.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <tuple>
#include <vector>

#include "tests/datapath/wire/every_header.h"

namespace {

using namespace verbline::wire;

void require(bool condition) {
    if (!condition) std::abort();
}

template <class Header>
void round_trip(Bytes packet) {
    const auto parsed = Header::parse(packet);
    if (!parsed) return;
    std::vector<std::byte> copy(packet.begin(), packet.end());
    parsed->emit(std::span(copy).first<Header::size>());
    require(Header::parse(copy) == parsed);
}

void walk_options(Bytes packet) {
    NdOptions options(packet);
    std::size_t seen = 0;
    for (auto option = options.next(); option && *option; option = options.next()) {
        require((*option)->bytes.size() >= 8 && (*option)->bytes.size() % 8 == 0);
        seen += (*option)->bytes.size();
    }
    require(seen <= packet.size());
}

template <class... Header>
void round_trips(Bytes packet, std::tuple<Header...>*) {
    (round_trip<Header>(packet), ...);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const Bytes packet(reinterpret_cast<const std::byte*>(data), size);
    round_trips(packet, static_cast<EveryHeader<std::tuple>*>(nullptr));
    walk_options(packet);
    if (const auto address = parse_ipoib_address(packet)) {
        std::array<std::byte, IpoibAddress::size> bytes{};
        emit(*address, bytes);
        require(std::ranges::equal(bytes, packet.first(bytes.size())));
    }
    return 0;
}
