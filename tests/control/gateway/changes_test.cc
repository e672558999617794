// SPDX-License-Identifier: BSD-3-Clause
#include "control/gateway/changes.h"

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

namespace verbline::gateway {
namespace {

link::InterfaceAddress address(std::string_view text) {
    return *link::parse_interface_address(text);
}
RouteConfig route(std::string_view to, std::string_view via, std::string port = {}) {
    return {.to = address(to), .via = address(std::string(via) + "/32").gid, .port = std::move(port), .line = 9};
}

GatewayConfig config() {
    PortConfig lan{
        .name = "lan", .devices = {"tap:lan0"}, .mtu = 1500, .addresses = {address("10.1.0.1/24")}, .lines = {}};
    PortConfig ib{.name = "ib0",
                  .type = PortType::ipoib,
                  .devices = {"memif:a"},
                  .sm = "ibsim:f,host=H1",
                  .mtu = 2044,
                  .addresses = {address("10.2.0.1/24")},
                  .lines = {}};
    lan.lines = {.port = 3, .mtu = 5};
    ib.lines = {.port = 10};
    return {
        .file = "gw.toml", .name = "gw", .netns = "", .ports = {lan, ib}, .routes = {route("10.3.0.0/16", "10.2.0.7")}};
}

/// The line about a change that is not possible.
std::string refusal(const std::function<void(GatewayConfig&)>& change) {
    auto wanted = config();
    change(wanted);
    const auto changes = changes_between(config(), wanted);
    return changes ? "possible: " + to_string(*changes, config()) : changes.error().what;
}
std::string refused(unsigned line, const std::string& what) {
    return "gw.toml:" + std::to_string(line) + ": while it runs, " + what + " cannot change" +
           ": nothing of the file is used until it is restarted";
}

TEST(Changes, SameConfigurationIsNothingToChange) {
    const auto running = config(), wanted = config();
    const auto changes = changes_between(running, wanted);
    ASSERT_TRUE(changes);
    EXPECT_TRUE(changes->empty());
    EXPECT_EQ(to_string(*changes, running), "nothing to change");
}

TEST(Changes, AddressesComeAndGoByTheRunningPort) {
    auto running = config(), wanted = config();
    std::swap(wanted.ports[0], wanted.ports[1]);  // the order of ports says nothing
    wanted.ports[0].addresses = {address("fd76:2::1/64"), address("10.2.0.1/24")};
    wanted.ports[1].addresses = {address("10.1.0.9/24")};
    const auto changes = changes_between(running, wanted);
    ASSERT_TRUE(changes) << changes.error().what;
    EXPECT_EQ(changes->added,
              (std::vector<Changes::PortAddress>{{0, address("10.1.0.9/24")}, {1, address("fd76:2::1/64")}}));
    EXPECT_EQ(changes->removed, (std::vector<Changes::PortAddress>{{0, address("10.1.0.1/24")}}));
    EXPECT_EQ(to_string(*changes, running), "2 addresses added, 1 address removed");
    adopt(running, wanted);
    EXPECT_EQ(running.ports[0].name, "lan");
    EXPECT_TRUE(changes_between(running, wanted)->empty());
}

TEST(Changes, ProgramsOfPorts) {
    auto running = config(), wanted = config();
    running.ports[0].program = "/etc/old.o";
    wanted.ports[1].program = "/etc/new.o";
    auto changes = changes_between(running, wanted);
    ASSERT_TRUE(changes) << changes.error().what;
    EXPECT_EQ(changes->programs, (std::vector<std::size_t>{0, 1}));
    EXPECT_EQ(to_string(*changes, running), "2 programs changed");
    adopt(running, wanted);
    EXPECT_TRUE(changes_between(running, wanted)->empty());
    wanted.ports[1].program_section = "other";
    EXPECT_EQ(to_string(*changes_between(running, wanted), running), "1 program changed");
}

TEST(Changes, SettingsOfPorts) {
    const std::vector<std::pair<std::string, std::function<void(PortConfig&)>>> settings{
        {"virtual_address", [](auto& p) { p.virtual_addresses = {address("10.2.0.254/24").gid}; }},
        {"clamp_mss", [](auto& p) { p.clamp_mss = true; }},
        {"reverse_path", [](auto& p) { p.reverse_path = forward::ReversePathFilter::strict; }},
        {"proxy", [](auto& p) { p.proxy = true; }},
        {"multicast", [](auto& p) { p.multicast = false; }},
        {"advertise", [](auto& p) { p.advertise = true; }},
        {"dhcp_relay", [](auto& p) { p.dhcp_relay = {wire::ipv4(10, 9, 0, 2)}; }},
        {"dhcpv6_relay", [](auto& p) { p.dhcpv6_relay = {wire::Ipv6Address{}}; }},
        {"impair", [](auto& p) { p.impair = "loss=0.1"; }},
        {"capture", [](auto& p) { p.capture = "x.pcapng"; }}};
    for (const auto& [name, change] : settings) {
        auto running = config(), wanted = config();
        change(wanted.ports[1]);
        const auto changes = changes_between(running, wanted);
        ASSERT_TRUE(changes) << changes.error().what;
        ASSERT_EQ(changes->settings.size(), 1u) << name;
        EXPECT_EQ(changes->settings.front().port, 1u);
        EXPECT_EQ(to_string(*changes, running), name + " of port ib0 changed");
        adopt(running, wanted);
        EXPECT_TRUE(changes_between(running, wanted)->empty()) << name;
    }
}

TEST(Changes, RoutesAreToldApartByTheirNetworks) {
    auto running = config(), wanted = config();
    running.routes.push_back(route("10.4.0.0/16", "10.2.0.8"));
    wanted.routes = {route("10.3.0.0/16", "10.2.0.9"), route("10.5.0.0/16", "10.2.0.7", "ib0")};
    const auto changes = changes_between(running, wanted);
    ASSERT_TRUE(changes);
    EXPECT_EQ(to_string(*changes, running), "1 route added, 1 route changed, 1 route removed");
    for (const auto& [before, after] : changes->routes) {
        if (before == nullptr) {
            EXPECT_EQ(after, &wanted.routes[1]);
        } else if (after == nullptr) {
            EXPECT_EQ(before, &running.routes[1]);
        }
    }
    adopt(running, wanted);
    EXPECT_TRUE(changes_between(running, wanted)->empty());
}

TEST(Changes, WhatIsSetAtTheStartIsRefusedByName) {
    EXPECT_EQ(refusal([](auto& c) { c.name = "other"; }), refused(1, "name"));
    EXPECT_EQ(refusal([](auto& c) { c.netns = "vl"; }), refused(1, "netns"));
    EXPECT_EQ(refusal([](auto& c) { c.dhcpv6_enterprise = 32473; }), refused(1, "dhcpv6_enterprise"));
    EXPECT_EQ(refusal([](auto& c) { c.limits.routes = 500; }),
              refused(1, "routes of [limits] (allocated at the start)"));
    EXPECT_EQ(
        refusal([](auto& c) {
            c.limits.neighbours = c.limits.next_hops = 500;
            c.lines.limits = 7;
        }),
        refused(7, "neighbours of [limits] (allocated at the start), next_hops of [limits] (allocated at the start)"));
    EXPECT_EQ(refusal([](auto& c) { c.ports[0].mtu = 1400; }), refused(5, "mtu of port lan"));
    EXPECT_EQ(refusal([](auto& c) { c.ports[1].pkey = wire::PKey{0x8001}; }), refused(10, "pkey of port ib0"));
    EXPECT_EQ(refusal([](auto& c) { c.ports.pop_back(); }), refused(1, "port ib0, which is gone"));
    EXPECT_EQ(refusal([](auto& c) { c.ports[1].name = "ib1"; }),
              refused(10, "port ib1, which is new, port ib0, which is gone"));
    const std::vector<std::pair<std::string, std::function<void(PortConfig&)>>> others{
        {"type", [](auto& p) { p.type = PortType::ipoib; }},   {"link", [](auto& p) { p.link = IpoibLink::roce_v2; }},
        {"device", [](auto& p) { p.devices = {"tap:lan1"}; }}, {"vlan", [](auto& p) { p.vlan = 7; }},
        {"sm", [](auto& p) { p.sm = "umad:mlx5_0"; }},         {"mode", [](auto& p) { p.connected = true; }}};
    for (const auto& [name, change] : others)
        EXPECT_EQ(refusal([&](auto& c) { change(c.ports[0]); }), refused(3, name + " of port lan"));
}

TEST(Changes, OneThatIsRefusedRefusesAll) {
    EXPECT_EQ(refusal([](auto& c) {
                  c.routes.clear();
                  c.ports[0].mtu = 1400;
                  c.ports[0].vlan = 7;
              }),
              refused(3, "vlan of port lan, mtu of port lan"));
}

}  // namespace
}  // namespace verbline::gateway
