// SPDX-License-Identifier: BSD-3-Clause

/// @file
/// A target that members share, on ways that lose and repeat as the input says: its promises are those of
/// tests/datapath/node/xrc_model.h.

#include <vector>

#include "tests/datapath/node/xrc_model.h"
#include "tests/fuzz/datapath/packets.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace verbline;
    fuzz::Input input(std::as_bytes(std::span(data, size)));
    std::vector<unsigned> members;
    std::vector<std::uint32_t> psns;
    const wire::Psn first{static_cast<std::uint32_t>(input.word()) << 8 | input.byte()};
    for (unsigned n = input.byte() % 64; n > 0; --n) {
        const auto kind = input.byte();
        members.push_back(kind % test::XrcModel::legs);
        psns.push_back(1 + (kind >> 2) % 4);
    }
    test::XrcModel model(first, members, psns, [](bool kept, const char*) { fuzz::expect(kept); });
    while (!input.empty()) {
        const auto what = input.byte();
        const unsigned leg = (what >> 3) % test::XrcModel::legs;
        const bool lost = (what & 0x80) != 0;
        switch (what % 8) {
            case 0:
            case 1: model.send(lost); break;
            case 2: model.go_back(); break;
            case 3: model.refuse_request(leg); break;
            case 4:
            case 5: model.deliver_request(leg, lost); break;
            default: model.deliver_answer(leg, lost); break;
        }
    }
    model.finish();
    return 0;
}
