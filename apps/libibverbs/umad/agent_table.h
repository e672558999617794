// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// The agents of a port, of all open files of its umad device, and which of them a MAD is for: an answer goes to the
/// agent whose number is in the upper half of its transaction id, a request to the one that has registered for it.
///
/// Pure: no I/O, no clock.

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <vector>

#include "apps/libibverbs/umad/registration.h"
#include "datapath/wire/mad.h"
#include "pmd/base/error.h"

namespace verbline::verbs {

enum class FileId : std::uint32_t {};  ///< an open file of the device; never reused
/// The upper 32 bits of transaction ids of an agent's requests. Sixteen of them are used: a fabric simulator (ibsim)
/// overwrites the others on the way.
enum class AgentTid : std::uint16_t {};

struct MadAgent {
    FileId file{};
    std::uint32_t id = 0;  ///< in its file
    AgentTid tid{};
    Registration registration;
};

class AgentTable {
public:
    static constexpr std::uint32_t most_in_a_file = 32;  ///< IB_UMAD_MAX_AGENTS

    /// ENOMEM: the file has as many as it may have. EINVAL: another agent has one of the methods.
    Result<const MadAgent*> add(FileId file, const Registration& registration);
    /// EINVAL: there is no such agent.
    Result<MadAgent> remove(FileId file, std::uint32_t id);
    void remove_all(FileId file);

    /// Null: there is none.
    const MadAgent* find(FileId file, std::uint32_t id) const;
    /// `mad`: whole, with its header parsed; `qpn`: ours, at which it arrived. Null: nobody wants it.
    const MadAgent* recipient(const wire::Mad& header, std::span<const std::byte> mad, std::uint8_t qpn) const;
    bool empty() const { return agents_.empty(); }
    /// True if an agent waits for requests at QP1.
    bool serves() const;

private:
    bool taken(const Registration& registration) const;
    std::optional<AgentTid> free_tid();

    std::vector<MadAgent> agents_;
    std::uint16_t last_tid_ = 0;
};

}  // namespace verbline::verbs
