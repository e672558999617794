// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// What `verbline bench rdma` is to do: its options, parsed, before any device is open.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "apps/libibverbs/settings/settings.h"
#include "apps/verbline/bench/rdma/test_spec.h"
#include "datapath/link/gid_table.h"
#include "datapath/link/interface_address.h"
#include "datapath/wire/types.h"
#include "pmd/base/error.h"

namespace verbline::rdma_bench {

constexpr std::uint16_t usual_port_number = 18515;  ///< perftest's, of TCP

/// As typed; 0 and empty: not given.
struct RdmaTexts {
    std::string link, server, both;
    std::vector<std::string> addresses;
    std::string operation = "write", atomic = "FETCH_AND_ADD", transport = "RC", impair, lcores;
    std::uint32_t size = 0, pairs = 1, tx_depth = 0, rx_depth = 512, post_list = 1, cq_moderation = 0, mtu = 4096,
                  inline_bytes = 0, reads = 16;
    std::uint64_t iterations = 0;
    double duration = 0;
    std::string roce;
    std::uint32_t port_number = usual_port_number;
    bool all = false, bidirectional = false, latency = false, gigabits = false;
};

enum class Role : std::uint8_t { server, client, both };

struct RdmaPlan {
    Role role{};
    std::vector<verbs::Link> links;                 ///< one; of both ends, the client's and then the server's
    std::vector<link::InterfaceAddress> addresses;  ///< of the first link
    std::optional<wire::Gid> server;                ///< of a client
    std::uint16_t port_number = usual_port_number;  ///< by which the client finds the server: service.h
    std::string impair;                             ///< pmd/impair/spec.h; empty: none
    link::GidType roce = link::GidType::roce_v2;    ///< of the client's addresses, and so of both ends
    std::vector<unsigned> lcores;                   ///< empty: the first that the EAL has
    TestSpec spec;
    std::vector<Round> rounds;
    bool size_given = false, gigabits = false;

    bool timed() const { return rounds.front().iterations == 0; }
};

/// EINVAL: one line that names the option.
Result<RdmaPlan> make_plan(const RdmaTexts& texts);

/// Datagrams are one packet: leaves out sizes above the path MTU of the port, or takes that, unless a size was given.
/// EMSGSIZE: then it is too large.
Result<void> fit(RdmaPlan& plan, std::uint32_t max_mtu);

}  // namespace verbline::rdma_bench
