// SPDX-License-Identifier: BSD-3-Clause
#include "apps/libibverbs/umad/engine.h"

#include <cerrno>

#include <gtest/gtest.h>

#include "tests/apps/libibverbs/umad/mads.h"

namespace verbline::verbs {
namespace {

constexpr FileId file{1}, other{2};
constexpr wire::Lid peer{9};

class Umad : public testing::Test {
protected:
    std::uint32_t agent(FileId of, Registration registration) {
        const auto id = engine.register_agent(of, registration);
        EXPECT_TRUE(id);
        return id.value_or(99);
    }
    static Registration sa(std::uint8_t rmpp = 1) {
        return {.management_class = sa_class, .class_version = 2, .rmpp_version = rmpp};
    }
    static Registration vendor_server(std::uint8_t rmpp = 0) {
        Registration registration{
            .management_class = vendor_class, .class_version = 1, .oui = vendor, .rmpp_version = rmpp};
        registration.methods.set(1).set(0x12);
        return registration;
    }
    int write(FileId of, std::uint32_t id, std::vector<std::byte> mad, std::uint32_t timeout_ms = 100,
              std::uint32_t retries = 0) {
        const auto done = engine.write(of,
                                       {.agent = id,
                                        .timeout_ms = timeout_ms,
                                        .retries = retries,
                                        .to = {.lid = peer, .qpn = wire::Qpn{1}},
                                        .mad = std::move(mad)},
                                       now, out);
        return done ? 0 : done.error().code;
    }
    bool receive(std::span<const std::byte> mad, std::size_t length = wire::mad_size, std::uint8_t qpn = 1) {
        return engine.received(qpn, {.lid = peer, .qpn = wire::Qpn{1}}, buffer_of(mad), length, now, out);
    }
    /// The only transmission, which is gone then.
    mad::MadBuffer sent() {
        EXPECT_EQ(out.transmissions.size(), 1U);
        const auto mad = out.transmissions.empty() ? mad::MadBuffer{} : out.transmissions.front().mad;
        out.transmissions.clear();
        return mad;
    }
    void tick_at(Time when) {
        now = when;
        engine.tick(now, out);
    }

    UmadEngine engine;
    UmadEngine::Actions out;
    Time now = second;
};

TEST_F(Umad, AnswersGoToTheAgentThatHasAsked) {
    const auto first = agent(file, sa()), second_agent = agent(other, sa());
    EXPECT_EQ(write(file, first, mad_of(sa_class, wire::MadMethod::get, 0xaaaa'bbbb'0000'0001)), 0);
    const auto request = sent();
    EXPECT_EQ(write(other, second_agent, mad_of(sa_class, wire::MadMethod::get, 1)), 0);
    const auto others = sent();
    EXPECT_NE(header_of_mad(request).transaction >> 32, header_of_mad(others).transaction >> 32);
    EXPECT_EQ(header_of_mad(request).transaction & 0xffff'ffff, 1U) << "the program's half";

    auto answer = answer_to(others);
    answer[8] = std::byte{0x77};  // as ibsim does
    EXPECT_TRUE(receive(answer));
    ASSERT_EQ(out.arrivals.size(), 1U);
    EXPECT_EQ(out.arrivals[0].file, other);
    EXPECT_EQ(out.arrivals[0].message.agent, second_agent);
    EXPECT_EQ(out.arrivals[0].message.status, 0U);
    EXPECT_EQ(header_of_mad(out.arrivals[0].message.mad).transaction, header_of_mad(others).transaction);
    EXPECT_EQ(out.arrivals[0].message.from.lid, peer);
    receive(answer);
    EXPECT_EQ(out.arrivals.size(), 1U) << "answered once";
}

TEST_F(Umad, RequestsAreRepeatedAndTimeOut) {
    const auto id = agent(file, sa());
    EXPECT_EQ(write(file, id, mad_of(sa_class, wire::MadMethod::get, 1), 100, 2), 0);
    const auto request = sent();
    EXPECT_EQ(engine.deadline(), now + 100 * millisecond);
    for (int repeat = 1; repeat <= 2; ++repeat) {
        tick_at(*engine.deadline());
        EXPECT_EQ(sent(), request);
    }
    tick_at(*engine.deadline() - 1);
    EXPECT_TRUE(out.arrivals.empty());
    tick_at(*engine.deadline());
    ASSERT_EQ(out.arrivals.size(), 1U);
    const auto& message = out.arrivals[0].message;
    EXPECT_EQ(message.status, static_cast<std::uint32_t>(ETIMEDOUT));
    EXPECT_EQ(message.mad.size(), wire::Mad::size);
    EXPECT_EQ(header_of_mad(message.mad).transaction, header_of_mad(request).transaction);
    EXPECT_EQ(message.from.lid, peer) << "whom it was sent to";
    EXPECT_FALSE(engine.deadline());
    receive(answer_to(request));
    EXPECT_EQ(out.arrivals.size(), 1U) << "too late";
}

TEST_F(Umad, WhatNeedsNoAnswerIsForgotten) {
    const auto id = agent(file, sa());
    EXPECT_EQ(write(file, id, mad_of(sa_class, wire::MadMethod::get, 1), 0), 0);
    sent();
    EXPECT_FALSE(engine.deadline());
}

TEST_F(Umad, TheSameRequestTwiceIsRefused) {
    const auto id = agent(file, sa());
    EXPECT_EQ(write(file, id, mad_of(sa_class, wire::MadMethod::get, 1)), 0);
    EXPECT_EQ(write(file, id, mad_of(sa_class, wire::MadMethod::get, 1)), EINVAL);
    EXPECT_EQ(write(file, id, mad_of(sa_class, wire::MadMethod::get, 2)), 0);
}

TEST_F(Umad, WritesAreChecked) {
    const auto id = agent(file, sa(0));
    EXPECT_EQ(write(file, 32, mad_of(sa_class, wire::MadMethod::get, 1)), EINVAL);
    EXPECT_EQ(write(file, id + 1, mad_of(sa_class, wire::MadMethod::get, 1)), EIO);
    EXPECT_EQ(write(other, id, mad_of(sa_class, wire::MadMethod::get, 1)), EIO) << "another file's";
    EXPECT_EQ(write(file, id, mad_of(sa_class, wire::MadMethod::get, 1, 55)), EINVAL);
    EXPECT_EQ(write(file, id, mad_of(sa_class, wire::MadMethod::get, 1, 257)), EINVAL);
    EXPECT_EQ(write(file, id, segmented(mad_of(sa_class, wire::MadMethod::get, 1, 257))), EINVAL) << "no RMPP";
    EXPECT_EQ(write(file, id, std::vector<std::byte>(256)), EINVAL) << "base version";
    EXPECT_TRUE(out.transmissions.empty());
}

TEST_F(Umad, RequestsGoToWhoHasRegisteredForThem) {
    const auto id = agent(file, vendor_server());
    EXPECT_TRUE(engine.serves());
    const auto request = mad_of(vendor_class, wire::MadMethod::get, 0x1234'0000'0000'0001);
    EXPECT_TRUE(receive(request));
    ASSERT_EQ(out.arrivals.size(), 1U);
    EXPECT_EQ(out.arrivals[0].message.agent, id);
    EXPECT_EQ(out.arrivals[0].message.mad, request) << "with the transaction id of whoever asks";
    EXPECT_FALSE(receive(mad_of(vendor_class, wire::MadMethod::set, 1))) << "another method";
    EXPECT_FALSE(receive(mad_of(vendor_class, wire::MadMethod::get, 1, 256, 2))) << "another version";
    EXPECT_FALSE(receive(request, wire::mad_size, 0)) << "another queue pair";
    auto foreign = request;
    foreign[39] = std::byte{1};
    EXPECT_FALSE(receive(foreign)) << "another vendor";
    // Its answer keeps the transaction id and is sent once.
    out = {};
    const auto answer = answer_to(request);
    EXPECT_EQ(write(file, id, {answer.begin(), answer.end()}), 0);
    EXPECT_EQ(header_of_mad(sent()).transaction, 0x1234'0000'0000'0001U);
    EXPECT_FALSE(engine.deadline());
}

TEST_F(Umad, AMethodHasOneAgent) {
    agent(file, vendor_server());
    EXPECT_EQ(engine.register_agent(other, vendor_server()).error().code, EINVAL);
    auto another_vendors = vendor_server();
    another_vendors.oui = 7;
    EXPECT_TRUE(engine.register_agent(other, another_vendors));
    engine.close(file);
    EXPECT_TRUE(engine.register_agent(other, vendor_server())) << "the first is closed";
}

TEST_F(Umad, AgentsAreNumberedInTheirFile) {
    for (std::uint32_t id = 0; id < AgentTable::most_in_a_file; ++id) EXPECT_EQ(agent(file, sa()), id);
    EXPECT_EQ(engine.register_agent(file, sa()).error().code, ENOMEM);
    EXPECT_EQ(engine.register_agent(other, sa()).value_or(9), 0U);
    EXPECT_TRUE(engine.unregister_agent(file, 5));
    EXPECT_EQ(engine.unregister_agent(file, 5).error().code, EINVAL);
    EXPECT_EQ(agent(file, sa()), 5U);
}

TEST_F(Umad, WhatAnAgentHasAskedEndsWithIt) {
    const auto id = agent(file, sa());
    EXPECT_EQ(write(file, id, mad_of(sa_class, wire::MadMethod::get, 1)), 0);
    const auto request = sent();
    EXPECT_TRUE(engine.unregister_agent(file, id));
    EXPECT_FALSE(engine.deadline());
    EXPECT_FALSE(receive(answer_to(request)));
}

TEST_F(Umad, ATableCutByASimulatorEndsWhereItWasCut) {
    const auto id = agent(file, sa());
    EXPECT_EQ(write(file, id, mad_of(sa_class, wire::MadMethod::get_table, 1)), 0);
    auto answer = answer_to(sent());
    wire::Rmpp{.version = 0, .flags = wire::rmpp_flag::active}.emit(
        std::span(answer).subspan<wire::rmpp_offset, wire::Rmpp::size>());
    EXPECT_TRUE(receive(answer, 56 + 2 * 64));
    ASSERT_EQ(out.arrivals.size(), 1U);
    EXPECT_EQ(out.arrivals[0].message.mad.size(), 56U + 2 * 64);
}

/// Two engines, and MADs from one to the other.
class UmadTransfer : public Umad {
protected:
    void exchange(UmadEngine& from, UmadEngine::Actions& actions, UmadEngine& to, UmadEngine::Actions& answers) {
        for (unsigned round = 0; round < 10'000 && !actions.transmissions.empty(); ++round) {
            for (const auto& each : std::exchange(actions.transmissions, {}))
                to.received(1, {.lid = peer, .qpn = wire::Qpn{1}}, each.mad, wire::mad_size, now, answers);
            for (const auto& each : std::exchange(answers.transmissions, {}))
                from.received(1, {.lid = peer, .qpn = wire::Qpn{1}}, each.mad, wire::mad_size, now, actions);
        }
    }

    UmadEngine server;
    UmadEngine::Actions at_server;
};

TEST_F(UmadTransfer, ATableIsSentInSegmentsAndReadWhole) {
    const auto id =
        agent(file, {.management_class = vendor_class, .class_version = 1, .oui = vendor, .rmpp_version = 1});
    const auto serving = server.register_agent(file, vendor_server(1)).value_or(99);
    EXPECT_EQ(write(file, id, mad_of(vendor_class, wire::MadMethod::get_table, 1)), 0);
    exchange(engine, out, server, at_server);
    ASSERT_EQ(at_server.arrivals.size(), 1U);
    auto answer = segmented(mad_of(vendor_class, wire::MadMethod::get_table_response,
                                   header_of_mad(at_server.arrivals[0].message.mad).transaction, 100'000));
    for (std::size_t at = 40; at < answer.size(); ++at) answer[at] = static_cast<std::byte>(at / 3);
    EXPECT_TRUE(server.write(file, {.agent = serving, .to = {.lid = peer, .qpn = wire::Qpn{1}}, .mad = answer}, now,
                             at_server));
    exchange(server, at_server, engine, out);
    ASSERT_EQ(out.arrivals.size(), 1U);
    const auto& got = out.arrivals[0].message.mad;
    ASSERT_EQ(got.size(), answer.size());
    EXPECT_TRUE(std::equal(got.begin() + 36, got.end(), answer.begin() + 36));
    EXPECT_FALSE(server.deadline()) << "all is acknowledged";
    tick_at(now + 11 * second);
    EXPECT_FALSE(engine.deadline()) << "repeated segments are waited for no longer";
}

TEST_F(UmadTransfer, ARequestIsNotRepeatedWhileItsAnswerArrives) {
    const auto id =
        agent(file, {.management_class = vendor_class, .class_version = 1, .oui = vendor, .rmpp_version = 1});
    const auto serving = server.register_agent(file, vendor_server(1)).value_or(99);
    EXPECT_EQ(write(file, id, mad_of(vendor_class, wire::MadMethod::get_table, 1), 100, 3), 0);
    const auto answer = segmented(
        mad_of(vendor_class, wire::MadMethod::get_table_response, header_of_mad(sent()).transaction, 100'000));
    EXPECT_TRUE(server.write(file, {.agent = serving, .to = {.lid = peer, .qpn = wire::Qpn{1}}, .mad = answer}, now,
                             at_server));
    ASSERT_FALSE(at_server.transmissions.empty());
    EXPECT_TRUE(receive(at_server.transmissions.front().mad));
    std::ignore = sent();  // the acknowledgement, which is lost
    tick_at(now + 10 * second);
    EXPECT_TRUE(out.transmissions.empty() && out.arrivals.empty()) << "the sender repeats its segments, not we";
    tick_at(now + UmadEngine::assembly_timeout);
    ASSERT_EQ(out.arrivals.size(), 1U);
    EXPECT_EQ(out.arrivals[0].message.status, static_cast<std::uint32_t>(ETIMEDOUT));
    EXPECT_FALSE(engine.deadline());
}

TEST_F(UmadTransfer, AMessageOfNobodyIsReportedToItsSender) {
    const auto serving = server.register_agent(file, vendor_server(1)).value_or(99);
    auto answer = segmented(mad_of(vendor_class, wire::MadMethod::get_table_response, 1, 1000));
    EXPECT_TRUE(
        server.write(file, {.agent = serving, .timeout_ms = 10, .to = {.lid = peer}, .mad = answer}, now, at_server));
    while (server.deadline()) server.tick(now = *server.deadline(), at_server);
    ASSERT_EQ(at_server.arrivals.size(), 1U);
    EXPECT_EQ(at_server.arrivals[0].message.status, static_cast<std::uint32_t>(ETIMEDOUT));
}

TEST_F(UmadTransfer, UnaskedSegmentsAreNotKept) {
    const auto id =
        agent(file, {.management_class = vendor_class, .class_version = 1, .oui = vendor, .rmpp_version = 1});
    std::ignore = id;
    auto segment = mad_of(vendor_class, wire::MadMethod::get_table_response, std::uint64_t{1} << 32 | 5);
    wire::Rmpp{.version = 1, .type = wire::RmppType::data, .flags = wire::rmpp_flag::active, .segment = 1}.emit(
        std::span(segment).subspan(wire::rmpp_offset).first<wire::Rmpp::size>());
    EXPECT_TRUE(receive(segment));
    EXPECT_TRUE(out.transmissions.empty() && out.arrivals.empty());
    EXPECT_FALSE(engine.deadline());
}

}  // namespace
}  // namespace verbline::verbs
