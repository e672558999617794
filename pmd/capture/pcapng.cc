// SPDX-License-Identifier: BSD-3-Clause
// Block layouts: draft-ietf-opsawg-pcapng, sections 4.1 (section header), 4.2 (interface), 4.3 (enhanced packet).
// ERF records: Endace, "ERF types reference": time stamp (32.32, little-endian), type, flags, lengths (big-endian).
#include "pmd/capture/pcapng.h"

#include <cerrno>
#include <cstring>
#include <tuple>

#include <endian.h>
#include <fcntl.h>

#include <fmt/format.h>

#include "pmd/base/file_descriptor.h"

namespace verbline::pmd::pcapng {
namespace {

constexpr std::uint32_t section_block = 0x0a0d0d0a, interface_block = 1, packet_block = 6;
constexpr std::uint32_t byte_order_magic = 0x1a2b3c4d;
constexpr std::uint16_t option_end = 0, option_user_application = 4;
constexpr std::uint16_t option_interface_name = 2, option_time_resolution = 9;
constexpr std::uint16_t option_packet_flags = 2;
constexpr char nanoseconds = 9;  // 10^-9
constexpr std::size_t erf_header_size = 16;
constexpr std::uint8_t erf_infiniband = 21, erf_varying_length = 4;

constexpr std::size_t padding(std::size_t size) {
    return (4 - size % 4) % 4;
}
constexpr std::uint32_t padded(std::size_t size) {
    return static_cast<std::uint32_t>(size + padding(size));
}

}  // namespace

Result<std::unique_ptr<Writer>> Writer::create(const std::string& path) {
    // Not by fopen: a library inside of a program has to know the descriptor.
    FileDescriptor descriptor(open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666));
    File file(descriptor ? fdopen(descriptor.get(), "wb") : nullptr);
    if (!file) {
        return failure(errno, fmt::format("cannot create capture file {}: {}", path, std::strerror(errno)));
    }
    std::ignore = descriptor.release();  // fclose closes it
    std::unique_ptr<Writer> writer(new Writer(path, std::move(file)));
    constexpr std::string_view application = "verbline";
    const auto length = std::uint32_t{28} + 4 + padded(application.size()) + 4;
    writer->put(section_block);
    writer->put(length);
    writer->put(byte_order_magic);
    writer->put(std::uint16_t{1});  // version 1.0
    writer->put(std::uint16_t{0});
    writer->put(~std::uint64_t{0});  // section length: until the file's end
    writer->put_option(option_user_application, application);
    writer->put_option(option_end, {});
    writer->put(length);
    if (auto done = writer->flush(); !done) return std::unexpected(done.error());
    return writer;
}

InterfaceId Writer::add_interface(std::string_view name, LinkType type) {
    const std::string_view resolution(&nanoseconds, 1);
    const auto length = std::uint32_t{20} + 4 + padded(name.size()) + 4 + padded(resolution.size()) + 4;
    put(interface_block);
    put(length);
    put(type);
    put(std::uint16_t{0});
    put(std::uint32_t{0});  // no limit on the length of packets
    put_option(option_interface_name, name);
    put_option(option_time_resolution, resolution);
    put_option(option_end, {});
    put(length);
    interfaces_.push_back(type);
    return InterfaceId{static_cast<std::uint32_t>(interfaces_.size() - 1)};
}

void Writer::write(InterfaceId interface, Direction direction, Time time, std::span<const Bytes> pieces) {
    std::size_t size = 0;
    for (const auto piece : pieces) size += piece.size();
    const bool erf = interfaces_[static_cast<std::size_t>(interface)] == LinkType::infiniband;
    if (erf) size += erf_header_size;
    const auto length = std::uint32_t{32} + padded(size) + 8 + 4;
    const auto stamp = static_cast<std::uint64_t>(time);
    const std::uint32_t flags = static_cast<std::uint32_t>(direction);
    put(packet_block);
    put(length);
    put(interface);
    put(static_cast<std::uint32_t>(stamp >> 32));
    put(static_cast<std::uint32_t>(stamp));
    put(static_cast<std::uint32_t>(size));  // captured
    put(static_cast<std::uint32_t>(size));  // on the wire
    if (erf) put_erf_header(time, size);
    for (const auto piece : pieces) put(piece.data(), piece.size());
    put_padding(size);
    put_option(option_packet_flags, {reinterpret_cast<const char*>(&flags), sizeof(flags)});
    put_option(option_end, {});
    put(length);
}

Result<void> Writer::flush() {
    if (error_ == 0 && std::fflush(file_.get()) != 0) error_ = errno;
    if (error_ == 0) return {};
    return failure(error_, fmt::format("cannot write to capture file {}: {}; the capture ends there", path_,
                                       std::strerror(error_)));
}

void Writer::put(const void* bytes, std::size_t size) {
    if (error_ == 0 && size > 0 && std::fwrite(bytes, size, 1, file_.get()) != 1) error_ = errno;
}

/// `size` with the header; InfiniBand packets are far shorter than the field's limit.
void Writer::put_erf_header(Time time, std::size_t size) {
    const auto seconds = static_cast<std::uint64_t>(time / second), rest = static_cast<std::uint64_t>(time % second);
    put(htole64(seconds << 32 | (rest << 32) / second));
    put(erf_infiniband);
    put(erf_varying_length);
    put(htobe16(static_cast<std::uint16_t>(size)));
    put(std::uint16_t{0});  // lost: none
    put(htobe16(static_cast<std::uint16_t>(size - erf_header_size)));
}

void Writer::put_padding(std::size_t size) {
    constexpr char zeros[4] = {};
    put(zeros, padding(size));
}

void Writer::put_option(std::uint16_t code, std::string_view value) {
    put(code);
    put(static_cast<std::uint16_t>(value.size()));
    put(value.data(), value.size());
    put_padding(value.size());
}

}  // namespace verbline::pmd::pcapng
