// SPDX-License-Identifier: BSD-3-Clause
#include "datapath/program/program_runner.h"

#include <algorithm>
#include <array>
#include <cstring>

#include <rte_mbuf.h>

namespace verbline::program {
namespace {

// The fields that a program reads, as verbline_program.h has them for a compiler of its own.
static_assert(sizeof(verbline_packet) == 160 && offsetof(verbline_packet, length) == 8 &&
              offsetof(verbline_packet, port) == 14 && offsetof(verbline_packet, family) == 20 &&
              offsetof(verbline_packet, data) == 32);
static_assert(sizeof(verbline_ipv4) == 20 && offsetof(verbline_ipv4, source) == 12);
static_assert(sizeof(verbline_ipv6) == 40 && offsetof(verbline_ipv6, source) == 8);

constexpr std::uint64_t verdict_mask = 0xff;

/// From `VERBLINE_DATA_SIZE - n` on, ones for n bytes that are the packet's, and zeros for what is behind it in its
/// buffer: of a packet shorter than the program's reach, a step is copied at one speed whatever the size. Copying no
/// more than there is, and zeros behind it, takes longer: measured for 46 bytes.
constexpr auto kept_bytes = [] {
    std::array<std::uint8_t, 2 * VERBLINE_DATA_SIZE> bytes{};
    for (std::size_t i = 0; i < VERBLINE_DATA_SIZE; ++i) bytes[i] = 0xff;
    return bytes;
}();

}  // namespace

ProgramRunner::ProgramRunner(const PortProgram& port, std::uint16_t shard) : port_(port), shard_(shard) {}

Outcome ProgramRunner::run(pmd::Burst packets, std::span<const Family> families, std::size_t at, Time now,
                           Forwarded& forwarded) noexcept {
    forwarded.size = 0;
    const auto* const program = port_.current();
    if (program == nullptr) return {.kept = packets.size()};
    const LookUpIn tables(port_.prefixes());
    const auto code = program->code(shard_);
    const auto reach = program->reach();
    const auto cores = static_cast<std::uint16_t>(port_.shards());
    Outcome outcome;
    std::uint64_t unseen = 0, dropped = 0;
    for (std::size_t i = 0; i < packets.size(); ++i) {
        auto* const packet = packets[i];
        if (families[i] == Family::none) [[unlikely]] {
            packets[outcome.kept++] = packet;  // at most at `i`, which was read
            ++unseen;
            continue;
        }
        // All of it each time: the program may write to what it is shown.
        shown_.time = static_cast<verbline_u64>(now);
        shown_.port = port_.port();
        shown_.core = shard_;
        shown_.cores = cores;
        shown_.family = static_cast<verbline_u8>(families[i]);
        show(*packet, at, reach);
        const auto verdict = code(shown_);
        if (verdict == VERBLINE_PASS) [[likely]] {
            packets[outcome.kept++] = packet;
            continue;
        }
        outcome.gone_bytes += packet->pkt_len - at;
        if (verdict == VERBLINE_DROP) {
            ++dropped;
            rte_pktmbuf_free(packet);
        } else if ((verdict & verdict_mask) != VERBLINE_FORWARD_FLAG) {
            counters_.program_aborted.add();
            rte_pktmbuf_free(packet);
        } else if (const auto port = verdict >> 8; port >= port_.ports()) {
            counters_.program_no_port.add();
            rte_pktmbuf_free(packet);
        } else {
            forwarded.packets[forwarded.size] = packet;
            forwarded.families[forwarded.size] = families[i];
            forwarded.ports[forwarded.size++] = static_cast<std::uint16_t>(port);
        }
    }
    counters_.program_passed.add(outcome.kept - unseen);
    counters_.program_dropped.add(dropped);
    counters_.program_forwarded.add(forwarded.size);
    return outcome;
}

/// Copies what the program reaches of the packet's bytes from offset `at` of its first buffer on; there may be several
/// buffers.
void ProgramRunner::show(const rte_mbuf& packet, std::size_t at, std::size_t reach) noexcept {
    constexpr std::size_t room = sizeof shown_.data;
    shown_.length = static_cast<verbline_u32>(packet.pkt_len - at);
    if (packet.nb_segs == 1 && packet.data_off + at + room <= packet.buf_len) [[likely]] {
        const auto size = std::min<std::size_t>(packet.data_len - at, room);
        const auto* const bytes = rte_pktmbuf_mtod_offset(&packet, const std::uint8_t*, at);
        if (size >= reach) [[likely]] {
            for (std::size_t step = 0; step < reach; step += Program::reach_step)
                std::memcpy(shown_.data + step, bytes + step, Program::reach_step);
        } else {
            const auto* const kept = kept_bytes.data() + room - size;
            for (std::size_t step = 0; step < reach; step += Program::reach_step)
                for (std::size_t i = step; i < step + Program::reach_step; ++i) shown_.data[i] = bytes[i] & kept[i];
        }
        shown_.available = static_cast<verbline_u16>(size);
        return;
    }
    std::memset(shown_.data, 0, room);
    std::size_t size = 0;
    for (const auto* segment = &packet; segment != nullptr && size < room; segment = segment->next, at = 0) {
        const auto n = std::min<std::size_t>(segment->data_len - at, room - size);
        std::memcpy(shown_.data + size, rte_pktmbuf_mtod_offset(segment, const void*, at), n);
        size += n;
    }
    shown_.available = static_cast<verbline_u16>(size);
}

}  // namespace verbline::program
