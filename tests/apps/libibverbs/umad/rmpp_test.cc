// SPDX-License-Identifier: BSD-3-Clause
// RmppSender and RmppReceiver, against each other over a network that loses, repeats and reorders.
#include <random>

#include <gtest/gtest.h>

#include "apps/libibverbs/umad/rmpp_receiver.h"
#include "apps/libibverbs/umad/rmpp_sender.h"
#include "tests/apps/libibverbs/umad/mads.h"

namespace verbline::verbs {
namespace {

constexpr Time timeout = 100 * millisecond;

std::vector<std::byte> message_of(wire::MadClass of, std::size_t size) {
    auto message = segmented(mad_of(of, wire::MadMethod::get_table_response, 5, size));
    for (std::size_t at = 56; at < size; ++at) message[at] = static_cast<std::byte>(at * 7 + at / 256);
    return message;
}
wire::Rmpp rmpp_of(const mad::MadBuffer& mad) {
    return wire::Rmpp::parse(std::span(mad).subspan(wire::rmpp_offset)).value_or(wire::Rmpp{});
}
/// What is compared: all but the RMPP header.
std::vector<std::byte> without_rmpp(std::vector<std::byte> message) {
    std::fill_n(message.begin() + wire::rmpp_offset, wire::Rmpp::size, std::byte{});
    return message;
}

struct Network {
    double loss = 0, repeats = 0, reorders = 0;
    std::mt19937 random{1};
    bool happens(double probability) { return std::bernoulli_distribution(probability)(random); }
    void carry(std::vector<mad::MadBuffer>& segments) {
        std::vector<mad::MadBuffer> out;
        for (const auto& each : segments) {
            if (happens(loss)) continue;
            out.push_back(each);
            if (happens(repeats)) out.push_back(each);
        }
        if (happens(reorders)) std::ranges::shuffle(out, random);
        segments = std::move(out);
    }
};

/// The message as received; empty: the sender has failed.
std::vector<std::byte> transfer(const std::vector<std::byte>& message, Network network) {
    RmppSender sender(message, timeout, 20);
    RmppReceiver receiver;
    Time now = 0;
    RmppSender::Segments segments;
    std::vector<std::byte> got;
    sender.start(now, segments);
    auto state = RmppSender::State::sending;
    for (unsigned rounds = 0; state == RmppSender::State::sending && rounds < 100'000; ++rounds) {
        network.carry(segments);
        std::vector<mad::MadBuffer> acks;
        for (const auto& segment : std::exchange(segments, {}))
            if (const auto ack = receiver.received(segment, rmpp_of(segment))) acks.push_back(*ack);
        if (receiver.complete() && got.empty()) got = receiver.take();
        network.carry(acks);
        for (const auto& ack : acks) {
            state = sender.answered(rmpp_of(ack), now, segments);
            if (state != RmppSender::State::sending) return got;
        }
        if (!segments.empty()) continue;
        now = sender.due();
        state = sender.tick(now, segments);
    }
    return {};
}

TEST(Rmpp, MessagesOfEveryLengthArriveWhole) {
    for (const auto of : {sa_class, vendor_class})
        for (const std::size_t size : {56UL, 57UL, 255UL, 256UL, 257UL, 456UL, 457UL, 20'000UL}) {
            const auto message = message_of(of, size);
            EXPECT_EQ(without_rmpp(transfer(message, {})), without_rmpp(message)) << size;
        }
}

TEST(Rmpp, MessagesArriveOverALossyNetwork) {
    for (unsigned seed = 0; seed < 200; ++seed) {
        const auto message = message_of(sa_class, 1000 + seed * 300);
        Network network{.loss = 0.1, .repeats = 0.1, .reorders = 0.3, .random = std::mt19937(seed)};
        EXPECT_EQ(without_rmpp(transfer(message, network)), without_rmpp(message)) << "seed " << seed;
    }
}

TEST(Rmpp, SegmentsSayWhatIbtaSays) {
    RmppSender sender(message_of(sa_class, 56 + 200 + 1), timeout, 1);
    RmppSender::Segments segments;
    sender.start(0, segments);
    ASSERT_EQ(segments.size(), 1U) << "the window is unknown";
    auto rmpp = rmpp_of(segments[0]);
    EXPECT_EQ(rmpp.flags, wire::rmpp_flag::active | wire::rmpp_flag::first);
    EXPECT_EQ(rmpp.length, 201U + 2 * 20) << "of all segments, with their SA headers";
    EXPECT_EQ(sender.answered({.type = wire::RmppType::ack, .segment = 1, .length = 64}, 0, segments),
              RmppSender::State::sending);
    ASSERT_EQ(segments.size(), 2U);
    rmpp = rmpp_of(segments[1]);
    EXPECT_EQ(rmpp.flags, wire::rmpp_flag::active | wire::rmpp_flag::last);
    EXPECT_EQ(rmpp.length, 1U + 20);
    EXPECT_EQ(rmpp.segment, 2U);
    EXPECT_EQ(sender.answered({.type = wire::RmppType::ack, .segment = 2, .length = 64}, 0, segments),
              RmppSender::State::acknowledged);
}

TEST(Rmpp, TheSenderGivesUpAndIsStopped) {
    RmppSender::Segments segments;
    RmppSender lonely(message_of(sa_class, 300), timeout, 2);
    lonely.start(0, segments);
    EXPECT_EQ(lonely.tick(timeout - 1, segments), RmppSender::State::sending);
    EXPECT_EQ(segments.size(), 1U) << "not yet";
    EXPECT_EQ(lonely.tick(timeout, segments), RmppSender::State::sending);
    EXPECT_EQ(lonely.tick(2 * timeout, segments), RmppSender::State::sending);
    EXPECT_EQ(segments.size(), 3U);
    EXPECT_EQ(lonely.tick(3 * timeout, segments), RmppSender::State::failed);
    for (const auto type : {wire::RmppType::stop, wire::RmppType::abort}) {
        RmppSender sender(message_of(sa_class, 300), timeout, 2);
        sender.start(0, segments);
        EXPECT_EQ(sender.answered({.type = type}, 0, segments), RmppSender::State::failed);
    }
}

TEST(Rmpp, AcknowledgementsOfWhatWasNotSentChangeNothing) {
    RmppSender sender(message_of(sa_class, 1000), timeout, 2);
    RmppSender::Segments segments;
    sender.start(0, segments);
    for (const auto& wrong : {wire::Rmpp{.type = wire::RmppType::ack, .segment = 2, .length = 64},
                              wire::Rmpp{.type = wire::RmppType::ack, .segment = 1, .length = 0},
                              wire::Rmpp{.type = wire::RmppType::data, .segment = 1, .length = 64}}) {
        EXPECT_EQ(sender.answered(wrong, 0, segments), RmppSender::State::sending);
        EXPECT_EQ(segments.size(), 1U);
    }
}

TEST(Rmpp, TheReceiverTakesNoSegmentsBeyondItsWindow) {
    RmppReceiver receiver;
    const mad::MadBuffer segment = buffer_of(message_of(sa_class, 256));
    wire::Rmpp header{.type = wire::RmppType::data, .flags = wire::rmpp_flag::active, .segment = 0};
    EXPECT_FALSE(receiver.received(segment, header));
    header.segment = RmppReceiver::window + 1;
    EXPECT_FALSE(receiver.received(segment, header));
    EXPECT_EQ(receiver.size(), 0U);
}

}  // namespace
}  // namespace verbline::verbs
