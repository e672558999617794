// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// Two ports as one, of which one is used (pmd/active_backup): MADs go by it, and the attributes are its. For users a
/// change to the other is a port that has another LID, another GID, and perhaps another subnet manager, and that is to
/// register anew.

#include <array>
#include <functional>
#include <memory>
#include <string>

#include "control/mad/transport.h"

namespace verbline::mad {

class ActiveBackupTransport final : public Transport {
public:
    using Members = std::array<std::unique_ptr<Transport>, 2>;

    /// The first is used.
    explicit ActiveBackupTransport(Members members);
    ~ActiveBackupTransport() override;

    unsigned active() const { return active_; }
    void select(unsigned member);
    /// Whether the subnet manager has brought the member's port up.
    bool usable(unsigned member) const;
    /// Sets what is called when a member's attributes have changed.
    void on_change(std::function<void()> changed) { changed_ = std::move(changed); }

    const std::string& spec() const override { return members_[active_]->spec(); }
    void send(const MadAddress& to, MadBytes mad, Time reply_within) override {
        members_[active_]->send(to, mad, reply_within);
    }
    bool shared() const override { return members_[active_]->shared(); }
    void refresh() override;
    /// Of both together.
    void counters(const CounterVisitor& visit) const override;

private:
    void follow(unsigned member, PortEvent event);

    const Members members_;
    unsigned active_ = 0;
    std::function<void()> changed_ = [] {};
};

}  // namespace verbline::mad
