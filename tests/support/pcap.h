// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// Frames of a capture file: pcap, little-endian, microseconds, link type Ethernet. No more than the tests' captures
/// need.

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <string>
#include <vector>

namespace verbline::test {

struct CapturedFrame {
    std::vector<std::byte> bytes;
    std::uint32_t wire_length = 0;  ///< more than `bytes` if the capture cut the frame short

    bool whole() const { return bytes.size() == wire_length; }
};

/// Empty if the file cannot be read or is not of this kind.
inline std::vector<CapturedFrame> read_pcap(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    std::array<std::uint32_t, 6> head{};
    file.read(reinterpret_cast<char*>(head.data()), sizeof head);
    if (!file || head[0] != 0xa1b2c3d4 || head[5] != 1) return {};

    std::vector<CapturedFrame> frames;
    std::array<std::uint32_t, 4> record{};  // seconds, microseconds, bytes captured, bytes on the wire
    while (file.read(reinterpret_cast<char*>(record.data()), sizeof record)) {
        CapturedFrame frame{std::vector<std::byte>(record[2]), record[3]};
        if (!file.read(reinterpret_cast<char*>(frame.bytes.data()), record[2])) return {};
        frames.push_back(std::move(frame));
    }
    return frames;
}

}  // namespace verbline::test
