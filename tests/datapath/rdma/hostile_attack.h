// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// What an attacker sends, as data: a frame is right in every respect but those that are named.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <ostream>
#include <string>
#include <string_view>
#include <vector>

#include "datapath/memory/access.h"
#include "datapath/transport/queue_pair.h"
#include "datapath/wire/aeth.h"
#include "pmd/base/time.h"

namespace verbline::hostile {

/// The victim's keys.
enum class Key : std::uint8_t {
    good,          ///< 8 KiB, every right
    unknown,       ///< names nothing
    stale,         ///< named a region that was deregistered
    other_domain,  ///< every right, in another protection domain
    read_only,     ///< remote_read alone
    write_only,    ///< local_write and remote_write
    gone,          ///< two pages that are no longer there
    half_gone,     ///< two pages, of which the second is no longer there
    window,        ///< a window of type 2 that is not bound
};

enum class Srq : std::uint8_t { good, unknown, other_domain };

/// Who seems to have sent it.
enum class From : std::uint8_t { peer, elsewhere, peer_by_ipv6, peer_by_v1 };

struct Frame {
    std::uint8_t opcode = 0;
    std::int64_t psn = 0;     ///< from the first that the victim expects, or of the first that it sent
    std::size_t payload = 0;  ///< bytes
    unsigned seed = 1;        ///< of what they are

    // RETH, AtomicETH, IETH, FETH.
    Key key = Key::good;
    std::int64_t offset = 0;                 ///< from the key's first byte
    std::optional<std::uint64_t> address{};  ///< instead
    std::optional<std::uint32_t> length{};   ///< else as the payload
    std::uint64_t operand = 1;
    std::uint8_t placement = 1, selectivity = 0;

    // AETH.
    wire::AethKind kind = wire::AethKind::ack;
    std::uint8_t value = wire::credits_invalid;

    // BTH, DETH, XRCETH and what is below.
    bool ack_request = true, becn = false;
    std::optional<std::uint32_t> qpn{};
    std::uint16_t pkey = 0xffff;
    std::uint32_t qkey = 0x1234;
    std::uint8_t version = 0;
    std::optional<std::uint8_t> pad{};
    Srq srq = Srq::good;
    From from = From::peer;
    std::size_t cut = 0;  ///< bytes that are missing at the end
    bool hurry = false;   ///< the next one arrives with it
};

/// What the victim has posted before.
struct Posted {
    transport::SendOperation operation{};
    std::uint32_t length = 64;
    Key key = Key::good;  ///< of its local memory
};

struct Row {
    std::string_view name;
    transport::QueuePairType type = transport::QueuePairType::rc;
    std::vector<Frame> frames;

    // What is expected: frames of the victim after the attack, counters that moved, completions, asynchronous events.
    std::string_view answers{}, counters{}, completions{}, events{};
    transport::QueuePairState state = transport::QueuePairState::rts;
    std::size_t written = 0;  ///< bytes from the good region's first on that may differ from before

    // The victim.
    transport::QueuePairState before = transport::QueuePairState::rts;
    std::vector<Posted> posted{};
    unsigned receives = 0;
    std::uint32_t receive_size = 2048;
    Key receive_key = Key::good;
    memory::Access access = memory::Access::remote_write | memory::Access::remote_read | memory::Access::remote_atomic;
    std::uint8_t max_reads = 1;
    bool selective = false;
    Time wait = 0;  ///< at the end

    friend std::ostream& operator<<(std::ostream& out, const Row& row) { return out << row.name; }
};

namespace op = transport::opcode;  ///< as they are, those of RC
inline constexpr Frame plain_send{.opcode = op::send_only, .payload = 64};
constexpr std::uint8_t uc(std::uint8_t low) {
    return op::of(transport::Service::uc, low);
}
constexpr std::uint8_t ud(std::uint8_t low) {
    return op::of(transport::Service::ud, low);
}
constexpr std::uint8_t xrc(std::uint8_t low) {
    return op::of(transport::Service::xrc, low);
}

/// The table, by what is attacked.
std::vector<Row> memory_rows();
std::vector<Row> packet_rows();
std::vector<Row> message_rows();
std::vector<Row> sequence_rows();
std::vector<Row> requester_rows();
std::vector<Row> unreliable_rows();

}  // namespace verbline::hostile
