// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// Work requests and completions.
///
/// Shapes and meanings are those of the verbs (IBTA volume 1, 10.8 and 11.4), so that ibv_send_wr, ibv_recv_wr and
/// ibv_wc map field by field. All numbers are in host byte order.

#include <cstddef>
#include <cstdint>
#include <span>

#include "datapath/link/envelope.h"
#include "datapath/memory/access.h"
#include "datapath/wire/types.h"

namespace verbline::transport {

/// IBTA volume 1, 9.7.2: 2 GiB.
constexpr std::uint64_t max_message = std::uint64_t{1} << 31;

/// A scatter/gather element: a piece of registered memory.
struct Segment {
    std::uint64_t address = 0;  ///< in the region's address space, which starts at its iova
    std::uint32_t length = 0;   ///< bytes
    wire::RKey lkey{};
};

enum class SendOperation : std::uint8_t {
    send,
    send_with_immediate,
    send_with_invalidate,
    write,
    write_with_immediate,
    read,
    compare_swap,
    fetch_add,
    atomic_write,
    flush,
    local_invalidate,
    bind_window,
};

/// Flags of a send request, with the values of ibv_send_flags.
enum SendFlag : std::uint8_t {
    send_fence = 1,      ///< wait until all earlier READs and atomics are complete
    send_signalled = 2,  ///< complete also on success
    send_solicited = 4,  ///< the receiver's completion is a solicited event
    send_inline = 8,     ///< the segments are plain memory, copied before `post` returns
};

/// Destination of a UD send request.
struct UdDestination {
    const link::Envelope* envelope = nullptr;  ///< must live until the request has completed
    wire::Qpn qpn{};
    wire::QKey qkey{};  ///< if its high bit is set, the queue pair's own is sent (IBTA 10.2.5)
    wire::PKey pkey{};  ///< QP1 only; other queue pairs send their own P_Key
};

/// What `bind_window` binds (IBTA 10.6.7).
struct WindowBinding {
    wire::RKey window{};   ///< R_Key before the bind
    wire::RKey new_key{};  ///< type 2: R_Key after the bind; only the low eight bits may differ
    wire::RKey region{};
    std::uint64_t address = 0, length = 0;  ///< zero length: unbind
    memory::Access rights{};
};

struct SendRequest {
    std::uint64_t id = 0;  ///< returned in the completion (wr_id)
    std::span<const Segment> segments{};
    SendOperation operation{};
    std::uint8_t flags = 0;       ///< SendFlag bits
    std::uint32_t immediate = 0;  ///< host byte order; send_with_invalidate, local_invalidate: the R_Key
    std::uint64_t remote_address = 0;
    wire::RKey rkey{};
    std::uint64_t compare = 0, swap_or_add = 0;  ///< atomics; ATOMIC WRITE takes its eight bytes from the segments
    std::uint32_t length = 0;                    ///< FLUSH: bytes
    std::uint8_t flush_placement = 0, flush_selectivity = 0;
    std::uint32_t xrc_srq = 0;  ///< XRC: SRQ number at the peer
    UdDestination ud{};
    WindowBinding bind{};
};

struct ReceiveRequest {
    std::uint64_t id = 0;
    std::span<const Segment> segments{};
};

/// Values of ibv_wc_status.
enum class Status : std::uint8_t {
    success = 0,
    local_length_error = 1,
    local_queue_pair_error = 2,
    local_protection_error = 4,
    flushed = 5,
    window_bind_error = 6,
    bad_response = 7,
    local_access_error = 8,
    remote_invalid_request = 9,
    remote_access_error = 10,
    remote_operation_error = 11,
    retry_exceeded = 12,
    rnr_retry_exceeded = 13,
    remote_aborted = 16,
    fatal = 19,
    general = 21,
};
const char* text(Status status);

enum class CompletionKind : std::uint8_t {
    send,
    write,
    read,
    compare_swap,
    fetch_add,
    bind_window,
    local_invalidate,
    flush,
    atomic_write,
    receive,
    receive_write_with_immediate,
};

struct Completion {
    enum Flag : std::uint8_t { has_grh = 1, has_immediate = 2, has_invalidated = 8 };  ///< values of ibv_wc_flags

    std::uint64_t id = 0;
    Status status{};
    CompletionKind kind{};
    std::uint8_t flags = 0;
    std::uint8_t service_level = 0;
    std::uint32_t length = 0;     ///< bytes received, or of the send request
    std::uint32_t immediate = 0;  ///< or the invalidated R_Key
    wire::Qpn qpn{};              ///< the queue pair that completed
    wire::Qpn source{};           ///< UD: QPN of the sender
    wire::Lid slid{};
    std::uint16_t pkey_index = 0;  ///< QP1, which accepts any P_Key: not an index but the packet's P_Key
    std::int64_t time = 0;         ///< nanoseconds: the `now` of the poll that produced it
    bool solicited = false;
    wire::MacAddress source_mac{};  ///< UD on RoCE: source MAC of the frame, the sender's or the last router's
};
static_assert(sizeof(Completion) <= 64);

}  // namespace verbline::transport
