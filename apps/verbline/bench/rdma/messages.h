// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// What the two ends of a test tell each other: MADs of a vendor-defined class (IBTA volume 1, 13.4.4), between two
/// queue pairs of theirs, so that it needs no TCP, which a link without the kernel does not have. Every message is a
/// request of the client's, which it repeats until it has the response of the same transaction; so each may come more
/// than once.
///
///     hello     test, client's memory          -> path MTU, server's memory, or a refusal
///     pairs     some of the queue pairs        -> the server's of the same numbers
///     begin     a round                        -> the server is ready for it
///     end       what the client has sent       -> what the server has received; status busy: not all of it yet
///     alive                                    -> nothing: the client is at work
///     bye                                      -> the server ends
///
/// Numbers are big-endian. A message from a stranger is ignored while a test runs.

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "apps/verbline/bench/rdma/test_spec.h"
#include "datapath/wire/header.h"
#include "datapath/wire/mad.h"
#include "datapath/wire/types.h"

namespace verbline::rdma_bench {

constexpr wire::MadClass management_class{0x0a};  ///< of the range 0x09 to 0x0f
constexpr std::uint32_t protocol_version = 1;

enum class MessageKind : std::uint16_t { hello = 0x10, pairs, begin = 0x13, end, alive, bye };

/// Why a server takes no test.
enum class Refusal : std::uint16_t { none, version, unsupported, occupied, no_memory };
const char* text(Refusal refusal);

struct Hello {
    static constexpr std::size_t size = 60;
    std::uint32_t version = protocol_version;
    Operation operation{};
    Transport transport{};
    Measure measure{};
    std::uint8_t bidirectional = 0;
    std::uint32_t pairs = 0, tx_depth = 0, rx_depth = 0, post_list = 0, inline_bytes = 0, reads = 0, mtu = 0,
                  largest = 0;
    wire::RKey rkey{};
    std::uint64_t address = 0;
    std::uint32_t srq = 0;  ///< XRC: number of the shared receive queue

    using Layout =
        wire::Fields<wire::Field<&Hello::version, wire::at(0), 32>, wire::Field<&Hello::operation, wire::at(4), 8>,
                     wire::Field<&Hello::transport, wire::at(5), 8>, wire::Field<&Hello::measure, wire::at(6), 8>,
                     wire::Field<&Hello::bidirectional, wire::at(7), 8>, wire::Field<&Hello::pairs, wire::at(8), 32>,
                     wire::Field<&Hello::tx_depth, wire::at(12), 32>, wire::Field<&Hello::rx_depth, wire::at(16), 32>,
                     wire::Field<&Hello::post_list, wire::at(20), 32>,
                     wire::Field<&Hello::inline_bytes, wire::at(24), 32>, wire::Field<&Hello::reads, wire::at(28), 32>,
                     wire::Field<&Hello::mtu, wire::at(32), 32>, wire::Field<&Hello::largest, wire::at(36), 32>,
                     wire::Field<&Hello::rkey, wire::at(40), 32>, wire::Field<&Hello::address, wire::at(44), 64>,
                     wire::Field<&Hello::srq, wire::at(52), 32>, wire::Reserved<wire::at(56), 32>>;
    static_assert(Layout::tile(size));

    static Hello of(const TestSpec& spec);
    /// Nothing: a number is out of bounds, or the parts contradict each other.
    std::optional<TestSpec> spec() const;
    bool operator==(const Hello&) const = default;
};

/// The server's part of the connection; its test is the client's.
struct Welcome {
    static constexpr std::size_t size = 24;
    std::uint32_t refusal = 0;  ///< Refusal
    std::uint32_t mtu = 0;
    wire::RKey rkey{};
    std::uint64_t address = 0;
    std::uint32_t srq = 0;

    using Layout =
        wire::Fields<wire::Field<&Welcome::refusal, wire::at(0), 32>, wire::Field<&Welcome::mtu, wire::at(4), 32>,
                     wire::Field<&Welcome::rkey, wire::at(8), 32>, wire::Field<&Welcome::address, wire::at(12), 64>,
                     wire::Field<&Welcome::srq, wire::at(20), 32>>;
    static_assert(Layout::tile(size));
    bool operator==(const Welcome&) const = default;
};

/// Numbers of one queue pair; of XRC, of an initiator and a target.
struct PairNumbers {
    static constexpr std::size_t size = 12;
    wire::Qpn sends{}, receives{};  ///< equal but for XRC
    wire::Psn first;                ///< of both

    using Layout = wire::Fields<wire::Reserved<wire::at(0), 8>, wire::Field<&PairNumbers::sends, wire::at(1), 24>,
                                wire::Reserved<wire::at(4), 8>, wire::Field<&PairNumbers::receives, wire::at(5), 24>,
                                wire::Reserved<wire::at(8), 8>, wire::Field<&PairNumbers::first, wire::at(9), 24>>;
    static_assert(Layout::tile(size));
    bool operator==(const PairNumbers&) const = default;
};
/// In one message, of which the first is named by the attribute modifier.
constexpr std::size_t pairs_of_a_message = 16;

struct Begin {
    static constexpr std::size_t size = 28;
    std::uint32_t index = 0, bytes = 0;
    std::uint64_t iterations = 0, duration = 0;
    std::uint32_t cq_moderation = 0;

    using Layout =
        wire::Fields<wire::Field<&Begin::index, wire::at(0), 32>, wire::Field<&Begin::bytes, wire::at(4), 32>,
                     wire::Field<&Begin::iterations, wire::at(8), 64>, wire::Field<&Begin::duration, wire::at(16), 64>,
                     wire::Field<&Begin::cq_moderation, wire::at(24), 32>>;
    static_assert(Layout::tile(size));

    static Begin of(const Round& round);
    /// Nothing: it is no round of this test.
    std::optional<Round> round(const TestSpec& spec) const;
    bool operator==(const Begin&) const = default;
};

/// What one end has done in a round.
struct Account {
    static constexpr std::size_t size = 64;
    std::uint32_t index = 0;
    std::uint32_t wrong_bytes = 0;  ///< 1: what has arrived is not what was sent
    std::uint64_t sent = 0;         ///< messages, acknowledged where the transport does
    std::uint64_t received = 0, received_bytes = 0;
    std::uint64_t timed_messages = 0, elapsed = 0;  ///< messages of the measured time, and that in nanoseconds
    std::uint64_t peak_picos = 0;                   ///< picoseconds of a message in its best stretch; 0: not known
    std::uint64_t atomics = 0;                      ///< of this round, that its memory shows

    using Layout = wire::Fields<
        wire::Field<&Account::index, wire::at(0), 32>, wire::Field<&Account::wrong_bytes, wire::at(4), 32>,
        wire::Field<&Account::sent, wire::at(8), 64>, wire::Field<&Account::received, wire::at(16), 64>,
        wire::Field<&Account::received_bytes, wire::at(24), 64>, wire::Field<&Account::elapsed, wire::at(32), 64>,
        wire::Field<&Account::peak_picos, wire::at(40), 64>, wire::Field<&Account::atomics, wire::at(48), 64>,
        wire::Field<&Account::timed_messages, wire::at(56), 64>>;
    static_assert(Layout::tile(size));
    bool operator==(const Account&) const = default;
};

/// A message as it lies in a MAD: behind the header.
constexpr std::size_t payload_size = wire::mad_size - wire::Mad::size;
using Payload = std::array<std::byte, payload_size>;

template <class Part>
Payload payload_of(const Part& part) {
    Payload payload{};
    wire::write(part, std::span(payload).template first<Part::size>());
    return payload;
}
template <class Part>
Part read_payload(const Payload& payload) {
    return wire::read<Part>(payload).value_or(Part{});
}

}  // namespace verbline::rdma_bench
