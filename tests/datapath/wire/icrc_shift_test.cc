// SPDX-License-Identifier: BSD-3-Clause
#include "datapath/wire/icrc_shift.h"

#include <vector>

#include <gtest/gtest.h>

#include "datapath/wire/icrc.h"

namespace verbline::wire {
namespace {

constexpr std::size_t head = icrc_headers(IcrcOver::ipv4);

/// A packet that ends with so many zeros.
std::vector<std::byte> packet_with(std::size_t zeros) {
    std::vector<std::byte> packet(head + 5 + zeros);
    for (std::size_t i = 0; i < head + 5; ++i) packet[i] = static_cast<std::byte>(i * 11 + 1);
    packet[0] = std::byte{0x45};
    return packet;
}

TEST(IcrcShift, IsWhatReadingTheZerosGives) {
    for (const std::size_t zeros : {0, 1, 2, 3, 4, 7, 64, 255, 256, 4095, 9000, 65'535}) {
        const auto packet = packet_with(zeros);
        auto added = *Icrc::begin(IcrcOver::ipv4, Bytes(packet).first(head + 5));
        added.add(IcrcZeros(zeros));
        EXPECT_EQ(added.value(), Icrc::begin(IcrcOver::ipv4, packet)->value()) << zeros;
    }
}

TEST(IcrcShift, TablesAndPowersAgree) {
    for (const std::size_t zeros : {0, 1, 1000}) {
        const IcrcZeros tables(zeros);
        for (std::uint32_t state = 1, i = 0; i < 1000; ++i, state *= 0x9e37'79b1)
            EXPECT_EQ(tables.behind(state), icrc_behind_zeros(state, zeros));
    }
}

}  // namespace
}  // namespace verbline::wire
