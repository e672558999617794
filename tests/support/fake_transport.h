// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// A MAD transport without a port: a test, or a fuzzer, plays the other end.

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "control/mad/transport.h"

namespace verbline::test {

class FakeTransport final : public mad::Transport {
public:
    struct Sent {
        mad::MadAddress to;
        mad::MadBuffer mad;
    };

    explicit FakeTransport(mad::PortFacts facts = {.lid = wire::Lid{3},
                                                   .sm_lid = wire::Lid{1},
                                                   .guid = wire::Guid{0x10},
                                                   .pkeys = {wire::PKey{0xffff}},
                                                   .state = wire::PortState::active,
                                                   .mtu = 2048}) {
        observe(std::move(facts));
    }

    const std::string& spec() const override { return spec_; }
    void send(const mad::MadAddress& to, mad::MadBytes mad, Time) override {
        sent.push_back({to, {}});
        std::ranges::copy(mad, sent.back().mad.begin());
    }
    void refresh() override { ++refreshed; }
    bool shared() const override { return is_shared; }

    using Transport::deliver;
    using Transport::observe;

    std::vector<Sent> sent;
    int refreshed = 0;
    bool is_shared = false;

private:
    std::string spec_ = "fake";
};

}  // namespace verbline::test
