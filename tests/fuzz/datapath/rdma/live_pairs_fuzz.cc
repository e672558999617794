// SPDX-License-Identifier: BSD-3-Clause
// Two devices that talk over queue pairs of every type, and somebody in the middle: he lets packets through, loses,
// holds, repeats and exchanges them, and changes any field of them, after which the checksums are right again. So what
// arrives is what a live queue pair expects but for that. Nothing may be written that the peer has no right to, each
// request completes once at most, what is sent is well formed, and in the end no packet is kept.
#include <array>
#include <memory>
#include <vector>

#include "datapath/transport/packet.h"
#include "tests/fuzz/datapath/rdma/live_side.h"
#include "tests/support/link_frame.h"

using namespace verbline;
using fuzz::expect, fuzz::Side;

namespace {

constexpr std::size_t most_steps = 400, longest_body = 1400;

class Conversation {
public:
    explicit Conversation(fuzz::Input& input) : input_(input) {
        for (std::size_t which = 0; which < Side::count; ++which) connect(which);
    }

    void step() {
        const auto choice = input_.byte();
        auto &side = *sides_[choice & 1], &other = *sides_[1 - (choice & 1)];
        switch (choice >> 1 & 15) {
            case 0:
            case 1:
            case 2: side.post(input_, other); break;
            case 3:
            case 4: side.post_receive(input_); break;
            case 5:
            case 6:
            case 7: deliver(side, other, choice >> 5); break;
            case 8: drop(side); break;
            case 9: hold(side); break;
            case 10: repeat(side, other); break;
            case 11:
            case 12:
            case 13: deliver_changed(side, other, 1 + (choice >> 6)); break;
            case 14: now_ += Time{1} << (input_.byte() % 24); break;
            default: change(side, input_.byte()); break;
        }
        for (auto& each : sides_) each->poll(now_);
        now_ += 100;
    }

    void expect_intact() const {
        for (const auto& side : sides_) side->expect_intact();
    }

private:
    void connect(std::size_t which) {
        const auto peer = Side::peer_of(which);
        sides_[0]->connect(which, *sides_[1], wire::Psn(0xfffff0), wire::Psn(0xfffff8));
        sides_[1]->connect(peer, *sides_[0], wire::Psn(0xfffff8), wire::Psn(0xfffff0));
    }

    void change(Side& side, std::uint8_t choice) {
        const auto which = (choice >> 3) % Side::count;
        switch (choice & 7) {
            case 0: side.toggle_region(); break;
            case 1: side.replace_xrc_queue(); break;
            case 2: side.fail(which); break;
            default:
                sides_[0]->reset(which);
                sides_[1]->reset(Side::peer_of(which));
                connect(which);
        }
    }

    static rte_mbuf* take(Side& from) {
        auto& sent = from.cable.sent;
        if (sent.empty()) return nullptr;
        auto* const frame = sent.front();
        sent.pop_front();
        return frame;
    }
    /// One of the packets that `from` has sent, and perhaps those behind it.
    static void deliver(Side& from, Side& to, unsigned more) {
        for (unsigned i = 0; i <= more; ++i) {
            if (auto* const frame = take(from)) to.cable.received.push_back(frame);
        }
    }
    static void drop(Side& from) { rte_pktmbuf_free(take(from)); }
    /// Later than those behind it.
    static void hold(Side& from) {
        if (auto* const frame = take(from)) from.cable.sent.push_back(frame);
    }
    static void repeat(Side& from, Side& to) {
        if (from.cable.sent.empty()) return;
        auto* const copy = rte_pktmbuf_copy(from.cable.sent.front(), fuzz::packet_pool(), 0, UINT32_MAX);
        expect(copy != nullptr);
        to.cable.received.push_back(copy);
    }

    void deliver_changed(Side& from, Side& to, unsigned changes) {
        auto* const frame = take(from);
        if (frame == nullptr) return;
        const auto envelope = from.envelope_to(to);
        const std::span bytes(rte_pktmbuf_mtod(frame, const std::byte*), frame->data_len);
        std::vector<std::byte> body(bytes.begin() + envelope.size, bytes.end() - wire::icrc_size);
        rte_pktmbuf_free(frame);
        for (unsigned i = 0; i < changes; ++i) change(body, to);
        body.resize(std::clamp<std::size_t>(body.size(), wire::Bth::size, longest_body) & ~std::size_t{3});
        std::vector<std::byte> whole(envelope.size);
        whole.insert(whole.end(), body.begin(), body.end());
        whole.resize(whole.size() + wire::icrc_size);
        test::seal_frame(whole, envelope, 1);
        to.cable.received.push_back(fuzz::make_packet(whole, 2304));
    }

    /// One field, or all headers of another opcode.
    void change(std::vector<std::byte>& body, const Side& to) {
        const auto choice = input_.byte(), value = input_.byte();
        const auto psn = [&] { return wire::load32(body, 8); };
        switch (choice % 12) {
            case 0: body[0] = std::byte{value}; break;
            case 1: body[1] = std::byte{value}; break;
            case 2: body[4 + value % 8] ^= std::byte{choice}; break;
            case 3:
                wire::store32(body, 8, (psn() & 0xff00'0000) | ((psn() + static_cast<std::int8_t>(value)) & 0xff'ffff));
                break;
            case 4: wire::store32(body, 4, static_cast<std::uint32_t>(to.qpn(value % Side::count))); break;
            case 5: body.resize(wire::Bth::size + value * 4u); break;
            case 6: body.at(input_.word() % body.size()) = std::byte{value}; break;
            case 7: body[2] = std::byte{value}; break;
            case 8: wire::store32(body, 8, psn() ^ 0x8000'0000); break;
            case 9:
                if (body.size() > 12) body[12] = std::byte{value};  // AETH: the syndrome
                break;
            default: rewrite(body, to, value); break;
        }
    }

    /// Headers of an opcode of the same service, with fields that are nearly right.
    void rewrite(std::vector<std::byte>& body, const Side& to, std::uint8_t low) {
        const auto code = static_cast<std::uint8_t>((std::to_integer<unsigned>(body[0]) & 0xe0) | (low & 0x1f));
        const auto& traits = transport::opcode_table[code];
        if (traits.operation == transport::Operation::none) return;
        body[0] = std::byte{code};
        const auto fields = input_.byte();
        std::vector<std::byte> headers(traits.headers);
        std::size_t at = 0;
        if (traits.service == transport::Service::xrc && traits.is_request()) {
            wire::store32(headers, 0, to.xrc_queue() + ((fields & 0x80) != 0 ? 1 : 0));
            at = 4;
        }
        if (traits.service == transport::Service::ud) wire::store32(headers, 0, 0x1234);
        if (traits.operation == transport::Operation::flush) wire::store32(headers, std::exchange(at, at + 4), 1);
        const std::size_t payload = (fields & 0x40) != 0 ? Side::mtu : input_.byte() * 4u;
        if (headers.size() >= at + 16) {
            wire::store64(headers, at, to.address(fields) + (input_.word() & ~((fields & 0x20) != 0 ? 7u : 0u)));
            wire::store32(headers, at + 8, static_cast<std::uint32_t>(to.key(fields >> 2)));
            wire::store32(headers, at + 12,
                          (fields & 0x10) != 0 ? static_cast<std::uint32_t>(payload) : std::uint32_t{input_.word()});
        } else if (headers.size() >= at + 4) {
            wire::store32(headers, headers.size() - 4, static_cast<std::uint32_t>(to.key(fields >> 2)));
        }
        body.resize(wire::Bth::size);
        body.insert(body.end(), headers.begin(), headers.end());
        body.resize(body.size() + payload, std::byte{0xee});
    }

    fuzz::Input& input_;
    std::array<std::unique_ptr<Side>, 2> sides_{std::make_unique<Side>(std::uint8_t{1}),
                                                std::make_unique<Side>(std::uint8_t{2})};
    Time now_ = 1;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    auto* const pool = fuzz::packet_pool();
    {
        fuzz::Input input(std::as_bytes(std::span(data, size)));
        const auto conversation = std::make_unique<Conversation>(input);
        for (std::size_t steps = 0; steps < most_steps && !input.empty(); ++steps) conversation->step();
        conversation->expect_intact();
    }
    expect(rte_mempool_in_use_count(pool) == 0);
    return 0;
}
