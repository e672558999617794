// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// Writes a pcapng file: one section, any number of interfaces, nanosecond time stamps and directions.
///
/// Used by one thread. Errors (a full disk) are kept and reported by `flush`; later packets are discarded, so that a
/// capture never disturbs the traffic.

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "pmd/base/error.h"
#include "pmd/base/time.h"

namespace verbline::pmd::pcapng {

/// As registered at tcpdump.org.
enum class LinkType : std::uint16_t {
    ethernet = 1,
    raw_ip = 101,      ///< IPv4 or IPv6, distinguished by the version
    infiniband = 197,  ///< from the LRH to the VCRC, put into ERF records of type INFINIBAND: Wireshark 4 knows
                       ///< InfiniBand packets only so, and not as LINKTYPE_INFINIBAND (247)
};

enum class Direction : std::uint8_t { inbound = 1, outbound = 2 };  ///< as in epb_flags

enum class InterfaceId : std::uint32_t {};

using Bytes = std::span<const std::byte>;

class Writer {
public:
    /// Creates the file, or replaces an existing one.
    static Result<std::unique_ptr<Writer>> create(const std::string& path);
    Writer(const Writer&) = delete;
    Writer& operator=(const Writer&) = delete;

    InterfaceId add_interface(std::string_view name, LinkType type);
    /// Writes one packet, given in pieces; `time` is nanoseconds since 1970 (UTC).
    void write(InterfaceId interface, Direction direction, Time time, std::span<const Bytes> pieces);
    void write(InterfaceId interface, Direction direction, Time time, Bytes packet) {
        write(interface, direction, time, std::span(&packet, 1));
    }
    /// Writes all buffered data to the kernel, so that the file is complete even if the process dies afterwards.
    Result<void> flush();

private:
    struct Close {
        void operator()(std::FILE* file) const { std::fclose(file); }
    };
    using File = std::unique_ptr<std::FILE, Close>;

    Writer(std::string path, File file) : path_(std::move(path)), file_(std::move(file)) {}
    void put(const void* bytes, std::size_t size);
    template <class T>
    void put(T value) {
        put(&value, sizeof(value));
    }
    void put_erf_header(Time time, std::size_t size);
    void put_padding(std::size_t size);
    void put_option(std::uint16_t code, std::string_view value);

    std::string path_;
    File file_;
    int error_ = 0;
    std::vector<LinkType> interfaces_;  ///< by id
};

}  // namespace verbline::pmd::pcapng
