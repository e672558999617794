// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// An InfiniBand subnet: addresses, paths and groups are the subnet manager's (control/ipoib/subnet_port.h).

#include "apps/net_ipoib/link.h"
#include "control/ipoib/subnet_port.h"

namespace verbline::net_ipoib {

class SubnetLink final : public Link {
public:
    SubnetLink(control::Loop& loop, sa::Agent& agent, const Setup& setup);

    void start() override { port_.start(); }
    void carrier_changed(bool carrier) override;
    bool up() const override { return port_.up(); }
    wire::IpoibAddress address() const override { return port_.address(); }
    std::optional<link::Destination> broadcast(wire::EtherType type) const override { return port_.broadcast(type); }

    void find(const wire::IpoibAddress& host, std::function<void(const Way&)> found) override;
    void locate(const wire::IpoibAddress& host, wire::EtherType type,
                std::function<void(const link::Destination&)> located) override {
        port_.locate(host, type, std::move(located));
    }

    void send_to_group(const wire::Gid& group, std::vector<std::byte> packet) override {
        port_.send_to_group(group, std::move(packet));
    }
    void resolve(const wire::Gid& group) override { port_.memberships().resolve(group); }
    void hear(const wire::Gid& group, bool wanted) override { port_.memberships().hear(group, wanted); }
    void look_for(const wire::Gid& group) override { port_.memberships().look_for(group); }
    bool exists(const wire::Gid& group) const override { return port_.memberships().exists(group); }
    std::vector<wire::Gid> others() const override { return port_.memberships().others(); }

    void counters(const CounterVisitor& visit) const override { port_.counters(visit); }

private:
    ipoib::SubnetPort port_;
};

}  // namespace verbline::net_ipoib
