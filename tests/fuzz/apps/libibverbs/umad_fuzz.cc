// SPDX-License-Identifier: BSD-3-Clause

/// @file
/// Any registrations, messages and MADs, in any order, to the engine behind the umad devices: nothing is read outside
/// of what was given, messages are of agents that exist, and what an engine keeps ends with its agents.
///
/// The input is a row of steps: a byte that says what is done, one of the length, and its bytes.

#include <algorithm>
#include <cstring>
#include <vector>

#include "apps/libibverbs/umad/engine.h"
#include "tests/fuzz/datapath/packets.h"

namespace verbline::verbs {
namespace {

using fuzz::expect;

constexpr FileId files[] = {FileId{1}, FileId{2}};

template <class Structure>
Structure structure_of(wire::Bytes bytes) {
    Structure made{};
    std::memcpy(&made, bytes.data(), std::min(sizeof made, bytes.size()));
    return made;
}

mad::MadBuffer mad_of(wire::Bytes bytes) {
    mad::MadBuffer mad{};
    std::copy_n(bytes.begin(), std::min(bytes.size(), mad.size()), mad.begin());
    return mad;
}

class Play {
public:
    void step(unsigned what, wire::Bytes bytes) {
        const auto file = files[what >> 7 & 1];
        const auto layout = (what & 0x40) != 0 ? HeaderLayout::with_pkey : HeaderLayout::old;
        switch (what & 7) {
            case 0: add(file, registration_of(structure_of<ib_user_mad_reg_req>(bytes))); break;
            case 1: add(file, registration_of(structure_of<ib_user_mad_reg_req2>(bytes))); break;
            case 2:
                std::ignore = engine_.unregister_agent(file, bytes.empty() ? 0 : static_cast<unsigned>(bytes[0]));
                break;
            case 3: write(file, bytes, layout); break;
            case 4: receive(0, mad_of(bytes), bytes.size()); break;
            case 5: receive(1, mad_of(bytes), bytes.size()); break;
            case 6: loop_back(); break;
            default: now_ += Time{bytes.empty() ? 1 : static_cast<std::uint8_t>(bytes[0]) + 1} * 10 * millisecond;
        }
        engine_.tick(now_, out_);
        take();
    }
    void end() {
        for (const auto file : files) engine_.close(file);
        expect(!engine_.deadline() && !engine_.serves());
    }

private:
    void add(FileId file, const Result<Registration>& registration) {
        if (registration) std::ignore = engine_.register_agent(file, *registration);
    }
    void write(FileId file, wire::Bytes bytes, HeaderLayout layout) {
        if (check_length(bytes.size(), layout))
            std::ignore = engine_.write(file, parse_outgoing(bytes, layout), now_, out_);
    }
    void receive(std::uint8_t qpn, const mad::MadBuffer& mad, std::size_t length) {
        engine_.received(qpn, {.lid = wire::Lid{5}}, mad, std::min(length, wire::mad_size), now_, out_);
    }
    /// What was sent last comes back, as it is and as an answer.
    void loop_back() {
        for (const auto& mad : std::exchange(sent_, {})) {
            auto answer = mad;
            answer[3] ^= std::byte{0x80};
            receive(1, mad, wire::mad_size);
            receive(1, answer, wire::mad_size);
        }
    }
    void take() {
        for (const auto& [file, message] : std::exchange(out_.arrivals, {})) {
            expect(engine_.has(file, message.agent));
            expect(message.mad.size() >= wire::Mad::size);
            for (const std::size_t room : {0UL, 100UL, 400UL}) {
                const auto fits = readable(message, room, HeaderLayout::old);
                expect(fits.bytes <= message.mad.size() && fits.bytes <= room);
            }
        }
        for (const auto& each : std::exchange(out_.transmissions, {}))
            if (sent_.size() < 128) sent_.push_back(each.mad);
    }

    UmadEngine engine_;
    UmadEngine::Actions out_;
    std::vector<mad::MadBuffer> sent_;
    Time now_ = 0;
};

void play(wire::Bytes input) {
    Play play;
    while (input.size() >= 2) {
        const auto what = static_cast<unsigned>(input[0]);
        const auto length = std::min<std::size_t>(static_cast<std::size_t>(input[1]) * 2, input.size() - 2);
        play.step(what, input.subspan(2, length));
        input = input.subspan(2 + length);
    }
    play.end();
}

}  // namespace
}  // namespace verbline::verbs

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    verbline::verbs::play(std::as_bytes(std::span(data, size)));
    return 0;
}
