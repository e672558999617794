// SPDX-License-Identifier: BSD-3-Clause

/// @file
/// Any messages to a hub's registry: what is decoded is encoded back to what means the same, holds only usable values,
/// and whatever is granted, no two tenants share a MAC address or an IP address, or have two links with each other.

#include <set>
#include <vector>

#include "control/hub/protocol.h"
#include "control/hub/registry.h"
#include "control/hub/xrc_registry.h"
#include "datapath/wire/bytes.h"
#include "tests/fuzz/datapath/packets.h"

namespace verbline {
namespace {

using fuzz::expect;

void check(const hub::Message& message) {
    const auto bytes = hub::encode(message);
    expect(bytes.size() <= hub::largest_message);
    expect(hub::decode(bytes) == message);
    if (const auto* join = std::get_if<hub::Join>(&message)) {
        expect(!join->mac.multicast() && join->addresses.size() <= hub::max_addresses);
        for (const auto& address : join->addresses) {
            expect(link::usable(address));
            expect(link::parse_ipoib_address(to_string(address)) == address);
        }
    }
}

void check(const hub::Registry& registry) {
    std::set<wire::MacAddress> macs;
    std::set<wire::Gid> addresses;
    for (const auto& [lane, tenant] : registry.tenants()) {
        expect(macs.insert(tenant.mac).second && !tenant.mac.multicast());
        std::set<wire::Gid> own;
        for (const auto& address : tenant.addresses) own.insert(address.gid);
        for (const auto& gid : own) expect(addresses.insert(gid).second);
    }
    std::set<std::set<hub::LaneId>> pairs;
    for (const auto& [id, link] : registry.direct_links()) {
        expect(id != hub::DirectId{} && link.asker != link.peer && pairs.insert({link.asker, link.peer}).second);
        expect(registry.tenants().contains(link.asker) && registry.tenants().contains(link.peer));
    }
}

void play_ports(hub::Registry& registry, hub::LaneId speaker, const hub::Message& message) {
    if (const auto* wanted = std::get_if<hub::Reserve>(&message)) {
        const auto port = registry.reserve(speaker, *wanted);
        if (!port) return;
        expect(*port != 0 && (wanted->port == 0 || *port == wanted->port));
        expect(!registry.reserve(speaker, {wanted->space, *port, wanted->use.as_listener()}));
        if (wanted->use.listening) expect(registry.holder({wanted->space, *port}, std::nullopt).has_value());
    }
    if (const auto* wanted = std::get_if<hub::Rebind>(&message);
        wanted != nullptr && registry.rebind(speaker, *wanted)) {
        expect(registry.release(speaker, {wanted->space, wanted->port, wanted->to}).has_value());
        expect(registry.reserve(speaker, {wanted->space, wanted->port, wanted->to}).has_value());
    }
    if (const auto* port = std::get_if<hub::Release>(&message); port != nullptr && registry.release(speaker, *port)) {
        expect(!registry.release(speaker, *port) || port->use.reuse);
    }
}

/// Targets are only in domains that somebody has open, and each has a handle of a member of its domain.
void check(const hub::XrcRegistry& registry) {
    for (const auto& target : registry.targets()) {
        const auto members = registry.members(target.domain);
        const auto openers = registry.openers(target.qpn);
        expect(target.state != hub::XrcTargetState::gone && !openers.empty());
        for (const auto opener : openers) expect(members.contains(opener));
        expect(registry.find(target.qpn) != nullptr && *registry.find(target.qpn) == target);
    }
}

void play_xrc(hub::XrcRegistry& registry, hub::LaneId speaker, const hub::Message& message) {
    if (const auto* how = std::get_if<hub::OpenXrcDomain>(&message)) {
        (void)registry.open_domain(speaker, {1, how->exclusive ? 2 : 3}, *how);
    }
    if (const auto* which = std::get_if<hub::CloseXrcDomain>(&message)) {
        (void)registry.close_domain(speaker, which->domain);
        expect(!registry.members(which->domain).contains(speaker));
    }
    if (const auto* wanted = std::get_if<hub::CreateXrcTarget>(&message)) {
        (void)registry.create(speaker, wanted->domain);
    }
    if (const auto* wanted = std::get_if<hub::OpenXrcTarget>(&message)) (void)registry.open(speaker, *wanted);
    if (const auto* which = std::get_if<hub::CloseXrcTarget>(&message)) (void)registry.close(speaker, which->qpn);
    if (const auto* wanted = std::get_if<hub::XrcTarget>(&message)) (void)registry.set(speaker, *wanted);
    if (const auto* taken = std::get_if<hub::XrcTargetTaken>(&message)) {
        (void)registry.fail(taken->qpn, wire::NakCode::remote_access);
    }
    check(registry);
}

/// The messages come one after the other, each behind a byte of its length and one that says who speaks.
void play(wire::Bytes bytes) {
    hub::Registry registry(
        {.name = "fuzz", .subnets = hub::default_subnets(), .max_lanes = 4, .quotas = {.lane_groups = 2}});
    hub::XrcRegistry xrc;
    while (bytes.size() >= 2) {
        const auto size = std::min<std::size_t>(static_cast<std::size_t>(bytes[0]), bytes.size() - 2);
        const auto speaker = hub::LaneId{static_cast<std::uint16_t>(static_cast<unsigned>(bytes[1]) % 8)};
        const auto message = hub::decode(bytes.subspan(2, size));
        bytes = bytes.subspan(2 + size);
        const bool known = registry.tenants().contains(speaker);
        if (!message) {
            if (known) registry.leave(speaker);
            (void)xrc.leave(speaker);
            check(xrc);
            continue;
        }
        check(*message);
        play_xrc(xrc, speaker, *message);
        if (const auto* join = std::get_if<hub::Join>(&*message)) (void)registry.join(*join, {.pid = 1, .uid = 1});
        if (const auto* group = std::get_if<hub::GroupMembership>(&*message); group != nullptr && known) {
            (void)registry.set_group(speaker, *group);
        }
        if (known) play_ports(registry, speaker, *message);
        if (const auto* direct = std::get_if<hub::Direct>(&*message); direct != nullptr && known) {
            (void)registry.link_directly(speaker, *direct);
        }
        if (const auto* end = std::get_if<hub::DirectEnd>(&*message)) registry.end_direct(speaker, end->id);
        check(registry);
    }
}

}  // namespace
}  // namespace verbline

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const auto bytes = std::as_bytes(std::span(data, size));
    if (const auto message = verbline::hub::decode(bytes)) verbline::check(*message);
    verbline::play(bytes);
    return 0;
}
