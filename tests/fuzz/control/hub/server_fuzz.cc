// SPDX-License-Identifier: BSD-3-Clause

/// @file
/// A hub's server in conversation with several clients at once, which say what they like and hang up when they like:
/// every answer is a message, no two lanes have the same address, nobody has more than its share, and what was open at
/// the end of a connection is closed.

#include <array>
#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <tuple>

#include <unistd.h>

#include "control/hub/directory.h"
#include "control/hub/server.h"
#include "control/hub/subnet_host.h"
#include "tests/fuzz/datapath/packets.h"
#include "tests/support/unix_socket.h"

namespace verbline {
namespace {

using fuzz::expect;

constexpr std::size_t max_lanes = 4, max_groups = 2, max_ports = 3, max_direct = 2;

std::size_t open_descriptors() {
    return static_cast<std::size_t>(std::ranges::distance(std::filesystem::directory_iterator("/proc/self/fd")));
}

/// A subnet whose answers are there at once.
struct Subnet : hub::SubnetHost {
    bool has_address(const hub::PortUse& use) const override { return use.family == rdmacm::Family::ib; }
    hub::SubnetPort port() const override { return {.facts = {.lid = wire::Lid{3}, .mtu = 2048}, .broadcast = {}}; }
    void find(hub::LaneId member, const hub::FindNeighbour& wanted) override {
        server->tell_subnet(member, hub::NeighbourFound{wanted.to, wanted.to, 0});
    }
    void find(hub::LaneId member, const hub::FindPath& wanted) override {
        server->tell_subnet(member, hub::PathFound{wanted.to, wanted.pkey, {}, 0});
    }
    void join(hub::LaneId member, const hub::JoinSubnetGroup& wanted) override {
        joins.emplace(member, wanted.mgid, wanted.user);
        server->tell_subnet(member, hub::SubnetGroup{wanted.mgid, wanted.user, {}, EINVAL});
    }
    void leave(hub::LaneId member, const hub::LeaveSubnetGroup& which) override {
        joins.erase({member, which.mgid, which.user});
    }
    void forget(hub::LaneId member) override {
        std::erase_if(joins, [&](const auto& join) { return std::get<0>(join) == member; });
    }

    hub::Server* server = nullptr;
    std::set<std::tuple<hub::LaneId, wire::Gid, std::uint32_t>> joins;
};

/// Lanes without devices; now and then none is to be had.
struct Host : hub::LaneHost {
    Result<std::string> open_lane(hub::LaneId lane, const hub::Registry::Tenant& /*tenant*/) override {
        if (broken) return failure(ENOMEM, "no memory for packets");
        expect(lanes.try_emplace(lane).second);
        return "/run/lane";
    }
    void close_lane(hub::LaneId lane) override { expect(lanes.erase(lane) == 1); }
    Result<void> set_group(hub::LaneId lane, const hub::GroupMembership& group) override {
        auto& groups = lanes.at(lane);
        group.member ? (void)groups.insert(group.mac) : (void)groups.erase(group.mac);
        return {};
    }

    hub::SubnetHost* subnet() override { return &fabric; }

    bool broken = false;
    std::map<hub::LaneId, std::set<wire::MacAddress>> lanes;
    Subnet fabric;
};

class Conversation {
public:
    Conversation(control::Loop& loop, hub::Server& server, Host& host, std::string socket)
        : loop_(loop), server_(server), host_(host), socket_(std::move(socket)) {}

    void play(fuzz::Input input) {
        while (!input.empty()) {
            auto& client = clients_[input.byte() % clients_.size()];
            switch (input.byte() % 8) {
                case 0: client = test::connect_to(socket_); break;
                case 1: client = FileDescriptor(); break;
                case 2: host_.broken = input.byte() % 4 == 0; break;
                case 3: test::send_packet(client, input.take(input.byte())); break;
                default: test::send_packet(client, hub::encode(message(input))); break;
            }
            if (input.byte() % 2 != 0) continue;  // several speak before the hub listens
            listen();
        }
        listen();
    }

private:
    static hub::InterfaceAddress address(fuzz::Input& input) {
        hub::InterfaceAddress one{.gid = {}, .length = static_cast<std::uint8_t>(input.byte() % 130)};
        if (input.byte() % 2 == 0) one.gid.bytes[10] = one.gid.bytes[11] = std::byte{0xff};
        one.gid.bytes[12] = std::byte{10};
        one.gid.bytes[15] = std::byte{input.byte()};
        return one;
    }
    /// Of few, so that they meet; the first is that of an id without options.
    static hub::PortUse use_of(unsigned which) {
        hub::PortUse use{
            .only_its_family = which % 2 == 0, .reuse = which / 2 % 3 == 1, .listening = which / 2 % 3 == 2};
        if (which / 6 % 3 == 1) use.address = link::parse_interface_address("10.99.0.1/16")->gid;
        if (which / 6 % 3 == 2) use = {.family = rdmacm::Family::ib, .address = {}, .only_its_family = false};
        return use;
    }
    static hub::Message subnet_message(fuzz::Input& input) {
        wire::Gid gid{};
        gid.bytes[15] = std::byte{input.byte()};
        const std::uint32_t user = input.byte() % 4;
        switch (input.byte() % 5) {
            case 0: return hub::AskSubnetPort{};
            case 1: return hub::FindNeighbour{gid};
            case 2: return hub::FindPath{gid, wire::PKey{0xffff}};
            case 3: return hub::JoinSubnetGroup{.mgid = gid, .user = user};
            default: return hub::LeaveSubnetGroup{gid, user};
        }
    }
    static hub::Message message(fuzz::Input& input) {
        const wire::MacAddress mac{{std::byte(input.byte() % 4), {}, {}, {}, {}, std::byte(input.byte() % 8)}};
        const unsigned space_byte = input.byte(), port_byte = input.byte();
        const std::uint16_t space = space_byte % 2, port = port_byte % 4;
        const auto use = use_of(space_byte / 2), other_use = use_of(port_byte / 4);
        switch (input.byte() % 9) {
            case 0: {
                hub::Join join{.mac = mac, .addresses = {}, .program = "fuzz", .direct = true};
                for (unsigned n = input.byte() % 4; n > 0; --n) join.addresses.push_back(address(input));
                return join;
            }
            case 1: return hub::Join{.mac = {}, .addresses = {}, .program = {}, .direct = true};
            case 2: return hub::GroupMembership{mac, input.byte() % 3 != 0};
            case 3: return hub::Reserve{space, port, use};
            case 4: return hub::Release{space, port, use};
            case 5: return subnet_message(input);
            case 6: return hub::Direct{mac};
            case 7: return hub::DirectEnd{hub::DirectId{1u + port}};
            case 8: return hub::Rebind{space, port, use, other_use};
            default: return hub::Done{};
        }
    }
    void listen() {
        for (unsigned i = 0; i < 4; ++i) loop_.run_once(0);
        for (const auto& client : clients_) {
            std::array<std::byte, hub::largest_message> answer;
            for (ssize_t n; (n = recv(client.get(), answer.data(), answer.size(), 0)) > 0;) {
                expect(hub::decode(std::span(answer).first(static_cast<std::size_t>(n))).has_value());
            }
        }
        check();
    }
    void check() const {
        for (const auto& [lane, mgid, user] : host_.fabric.joins) expect(host_.lanes.contains(lane));
        std::set<wire::MacAddress> macs;
        std::set<wire::Gid> addresses;
        expect(server_.registry().tenants().size() == host_.lanes.size() && host_.lanes.size() <= max_lanes);
        for (const auto& [lane, tenant] : server_.registry().tenants()) {
            expect(macs.insert(tenant.mac).second && tenant.groups == host_.lanes.at(lane));
            expect(tenant.groups.size() <= max_groups && tenant.ports <= max_ports);
            std::set<wire::Gid> own;
            for (const auto& one : tenant.addresses) own.insert(one.gid);
            for (const auto& gid : own) expect(addresses.insert(gid).second);
            expect(server_.registry().direct_links(lane) <= max_direct);
        }
    }

    control::Loop& loop_;
    hub::Server& server_;
    Host& host_;
    std::string socket_;
    std::array<FileDescriptor, 6> clients_;
};

void play(fuzz::Input input) {
    const std::string name = "fuzz-" + std::to_string(getpid());
    const auto loop = control::Loop::create().value();
    Host host;
    {
        const hub::RegistrySetup setup{.name = name,
                                       .subnets = hub::default_subnets(),
                                       .owner = geteuid(),
                                       .max_lanes = max_lanes,
                                       .quotas = {.lane_groups = max_groups, .lane_ports = max_ports},
                                       .max_direct = max_direct};
        const auto server = hub::Server::open(*loop, setup, 4200, host).value();
        host.fabric.server = server.get();
        Conversation(*loop, *server, host, hub::control_socket(name)).play(input);
    }
    expect(host.lanes.empty());
    std::filesystem::remove_all(hub::directory(name));
}

}  // namespace
}  // namespace verbline

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace verbline;
    const auto descriptors = open_descriptors();
    play(fuzz::Input(std::as_bytes(std::span(data, size))));
    fuzz::expect(open_descriptors() == descriptors);
    return 0;
}
