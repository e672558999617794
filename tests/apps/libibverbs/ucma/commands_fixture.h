// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// Commands as a program writes them, on a service that only notes what it is asked for.

#include <cerrno>
#include <cstdint>
#include <cstring>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "apps/libibverbs/ucma/commands.h"
#include "datapath/memory/guarded.h"

namespace verbline::verbs {

struct MockService : rdmacm::Service {
    using IdNumber = rdmacm::IdNumber;
    using Address = rdmacm::SocketAddress;
    using Parameters = rdmacm::ConnectParameters;
    MOCK_METHOD(IdNumber, create_id, (rdmacm::EventQueue&, std::uint64_t, rdmacm::PortSpace, rdmacm::QueuePairType),
                (override));
    MOCK_METHOD(Result<std::uint32_t>, destroy_id, (IdNumber, Time), (override));
    MOCK_METHOD(Result<void>, bind, (IdNumber, const Address&, Time), (override));
    MOCK_METHOD(Result<void>, resolve_address, (IdNumber, const std::optional<Address>&, const Address&, Time, Time),
                (override));
    MOCK_METHOD(Result<void>, resolve_route, (IdNumber, Time, Time), (override));
    MOCK_METHOD(Result<void>, set_paths, (IdNumber, std::vector<wire::PathRecord>, Time), (override));
    MOCK_METHOD(Result<void>, listen, (IdNumber, int, Time), (override));
    MOCK_METHOD(Result<void>, connect, (IdNumber, const Parameters&, Time), (override));
    MOCK_METHOD(Result<void>, accept, (IdNumber, std::uint64_t, const std::optional<Parameters>&, Time), (override));
    MOCK_METHOD(Result<void>, reject, (IdNumber, const cm::PrivateData&, wire::CmRejectReason, Time), (override));
    MOCK_METHOD(Result<void>, disconnect, (IdNumber, Time), (override));
    MOCK_METHOD(Result<void>, notify_established, (IdNumber, Time), (override));
    MOCK_METHOD(Result<rdmacm::QueuePairAttributes>, init_queue_pair, (IdNumber, transport::QueuePairState),
                (override));
    MOCK_METHOD(Result<rdmacm::GroupNumber>, join, (IdNumber, std::uint64_t, const Address&, bool, Time), (override));
    MOCK_METHOD(Result<std::uint32_t>, leave, (rdmacm::GroupNumber, Time), (override));
    MOCK_METHOD(Result<void>, set_option, (IdNumber, Option, std::uint8_t), (override));
    MOCK_METHOD(Result<rdmacm::ResolvedRoute>, route, (IdNumber), (const, override));
    MOCK_METHOD(Result<std::uint32_t>, migrate, (IdNumber, rdmacm::EventQueue&), (override));
    MOCK_METHOD(std::optional<rdmacm::CmEvent>, take_event, (rdmacm::EventQueue&), (override));
    MOCK_METHOD(void, close, (rdmacm::EventQueue&, Time), (override));
    MOCK_METHOD(void, ready, (cm::Endpoint&, Time), (override));
    MOCK_METHOD(void, tick, (Time), (override));
    MOCK_METHOD(std::optional<Time>, deadline, (), (const, override));
    MOCK_METHOD(bool, bound, (const rdmacm::NetworkPort&, wire::CmServiceId), (const, override));
    MOCK_METHOD(void, port_changed, (const rdmacm::NetworkPort&, bool, Time), (override));
    MOCK_METHOD(std::vector<Shown>, show, (), (const, override));
    MOCK_METHOD(void, counters, (const CounterVisitor&), (const, override));
};

class Commands : public testing::Test {
protected:
    static constexpr Time now = 5 * second;
    static constexpr rdmacm::IdNumber id{7};

    static void SetUpTestSuite() { ASSERT_TRUE(memory::install_fault_guard()); }

    /// 0, or the errno value that the program would get.
    template <class Input>
    int run(std::uint32_t number, const Input& input, std::size_t out = 0, std::size_t in = sizeof(Input)) {
        std::vector<std::byte> bytes(sizeof(rdma_ucm_cmd_hdr) + sizeof(Input));
        const rdma_ucm_cmd_hdr header{.cmd = number, .in = static_cast<__u16>(in), .out = static_cast<__u16>(out)};
        std::memcpy(bytes.data(), &header, sizeof header);
        std::memcpy(&bytes[sizeof header], &input, sizeof input);
        const auto command = Command::read(reinterpret_cast<std::uint64_t>(bytes.data()), sizeof header + in);
        if (!command) return command.error().code;
        const auto done = run_command(*command, target);
        return done ? 0 : done.error().code;
    }

    template <class Structure>
    static std::uint64_t address_of(Structure& structure) {
        return reinterpret_cast<std::uint64_t>(&structure);
    }
    static constexpr std::uint64_t nowhere = 8;  ///< an address where nothing is

    testing::StrictMock<MockService> service;
    rdmacm::EventQueue events, other;
    CommandTarget target{.service = service, .events = events, .now = now};
};

}  // namespace verbline::verbs
