// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// Messages about XRC domains and target queue pairs that members of a node share (IBTA volume 1, annex A14).
///
///     member                                                node
///       ── open domain, with a descriptor of its file ──────>    the file's inode identifies the domain
///       (ibv_open_xrcd)
///                                    target, for each of it <──   unasked
///       <─────────────────────────── domain opened | refused ──
///       ── create target ───────────────────────────────────>
///       <──────────────────────────── target made | refused ──    with its number
///       ── open target, close target, close domain ─────────>    <── done | refused
///       ── target (its state and attributes, changed) ──────>    <── done | refused
///                            the others of the domain: target <──   unasked
///       ── taken (which change) ────────────────────────────>    that member's leg is as the target is; no answer
///
/// A target lives as long as it has handles, as in the kernel: each creation and each opening is one, until it is
/// closed or its member has ended.

#include <cstdint>

#include "datapath/wire/address_handle.h"
#include "datapath/wire/aeth.h"
#include "datapath/wire/types.h"

namespace verbline::hub {

enum class XrcDomainId : std::uint32_t {};

struct OpenXrcDomain {
    bool create = false;     ///< if nobody has it open
    bool exclusive = false;  ///< EINVAL if somebody has
    bool operator==(const OpenXrcDomain&) const = default;
};
struct XrcDomainOpened {
    XrcDomainId domain{};
    bool operator==(const XrcDomainOpened&) const = default;
};
struct CloseXrcDomain {
    XrcDomainId domain{};
    bool operator==(const CloseXrcDomain&) const = default;
};
struct CreateXrcTarget {
    XrcDomainId domain{};
    bool operator==(const CreateXrcTarget&) const = default;
};
struct XrcTargetMade {
    wire::Qpn qpn{};
    bool operator==(const XrcTargetMade&) const = default;
};
struct OpenXrcTarget {
    XrcDomainId domain{};
    wire::Qpn qpn{};
    bool operator==(const OpenXrcTarget&) const = default;
};
struct CloseXrcTarget {
    wire::Qpn qpn{};
    bool operator==(const CloseXrcTarget&) const = default;
};

/// Those of a queue pair that a target may have; gone: its last handle is closed.
enum class XrcTargetState : std::uint8_t { reset, init, rtr, rts, error, gone };
constexpr bool is_connected(XrcTargetState state) {
    return state == XrcTargetState::rtr || state == XrcTargetState::rts;
}

/// A target as all members of its domain are to have it. Values as in ibv_qp_attr.
struct XrcTarget {
    XrcDomainId domain{};
    wire::Qpn qpn{};
    std::uint32_t change = 0;  ///< counted by the node
    XrcTargetState state{};
    wire::NakCode failure{};  ///< in state error: the NAK that was sent; psn_sequence: none, a program has asked for it
    std::uint32_t access = 0;
    std::uint16_t pkey_index = 0;
    // Once it is connected.
    wire::Qpn peer{};
    wire::Psn first;
    std::uint16_t mtu = 0;  ///< bytes
    std::uint8_t max_reads = 0, rnr_timer = 0;
    wire::Gid source{};
    bool roce_v1 = false;
    wire::AddressHandle to;  ///< on Ethernet global, without a LID
    wire::MacAddress mac{};  ///< of the next hop; zero on a soft fabric

    bool operator==(const XrcTarget&) const = default;
};

/// The member has the target in this state.
struct XrcTargetTaken {
    wire::Qpn qpn{};
    std::uint32_t change = 0;
    bool operator==(const XrcTargetTaken&) const = default;
};

}  // namespace verbline::hub
