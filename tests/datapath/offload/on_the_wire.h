// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// What packets become behind segmentation, for tests of what may be merged.

#include <vector>

#include <rte_mbuf.h>

#include <gtest/gtest.h>

#include "datapath/offload/segmentation.h"
#include "tests/support/packet.h"

namespace verbline::offload {

inline bool is_large(const test::Packet& packet) {
    return (packet->ol_flags & RTE_MBUF_F_TX_TCP_SEG) != 0;
}

/// The packets that go out again, large ones segmented.
inline std::vector<test::ByteVector> on_the_wire(std::vector<test::Packet> packets) {
    std::vector<test::ByteVector> out;
    for (auto& packet : packets) {
        if (!is_large(packet)) {
            out.push_back(test::bytes_of(packet));
            continue;
        }
        Segmenter segmenter(packet.release(), *test::packet_pool());
        std::vector<rte_mbuf*> segments(segmenter.remaining());
        EXPECT_EQ(segmenter.next(segments), segments.size());
        for (auto* segment : segments) out.push_back(test::bytes_of(test::Packet(segment)));
    }
    return out;
}

}  // namespace verbline::offload
