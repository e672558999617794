// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// A port of an InfiniBand subnet: its way to the subnet manager, and the SA client there. The ports of a gateway that
/// are its partitions share it: it has one LID, one P_Key table, one membership of each group, one cache of paths.

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "control/loop/loop.h"
#include "control/mad/active_backup.h"
#include "control/mad/transport.h"
#include "control/sa/agent.h"
#include "pmd/base/error.h"
#include "pmd/capture/capture_file.h"

namespace verbline::gateway {

/// Belongs to the loop's thread. Owned by its ports together.
class Subnet {
public:
    /// `sm`: control/mad/open.h; so is `backup`, of another port that may take over, empty: none.
    static Result<std::shared_ptr<Subnet>> open(const std::string& sm, const std::string& backup, control::Loop& loop);
    Subnet(const Subnet&) = delete;
    Subnet& operator=(const Subnet&) = delete;

    const mad::PortFacts& port() const { return transport_->port(); }
    /// Starts when it is first called: the subnet administrator then knows of us.
    sa::Agent& agent();
    /// Whether it is a member of no group any more.
    bool left() const { return !agent_ || agent_->groups().show().empty(); }

    /// Null: there is no backup.
    mad::ActiveBackupTransport* pair() { return pair_; }

    /// Records MADs from now on, in each file once, under the name of who asked first.
    void capture(pmd::CaptureFile& file, const std::string& name);
    /// Records no more in this file, or in none.
    void stop_capture(pmd::CaptureFile& file);
    void stop_capture();

private:
    Subnet(std::unique_ptr<mad::Transport> transport, control::Loop& loop)
        : transport_(std::move(transport)), loop_(loop) {}
    void record(mad::Direction direction, mad::MadBytes mad, const mad::MadAddress& far, const mad::PortFacts& port);

    std::unique_ptr<mad::Transport> transport_;
    mad::ActiveBackupTransport* pair_ = nullptr;  ///< `transport_`, if it is one
    control::Loop& loop_;
    std::unique_ptr<sa::Agent> agent_;
    std::vector<std::pair<pmd::pcapng::Writer*, pmd::pcapng::InterfaceId>> records_;
};

}  // namespace verbline::gateway
