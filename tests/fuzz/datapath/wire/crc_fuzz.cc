// SPDX-License-Identifier: BSD-3-Clause
// ICRC and VCRC over any bytes: judged without harm, the same whole or in two pieces, by each engine, and good after
// sealing.
#include <cstdint>
#include <cstdlib>
#include <vector>

#include "datapath/wire/ib_packet.h"
#include "datapath/wire/icrc.h"
#include "datapath/wire/vcrc.h"

namespace {

using namespace verbline::wire;

void require(bool condition) {
    if (!condition) std::abort();
}

void icrc(IcrcOver first, Bytes packet, std::size_t cut) {
    const auto whole = Icrc::begin(first, packet);
    if (auto pieces = Icrc::begin(first, packet.first(cut))) {
        pieces->add(packet.subspan(cut));
        require(whole && whole->value() == pieces->value());
    }
    Vcrc vcrc, alone;
    alone.add(packet);
    if (const auto both = Icrc::begin(first, packet, vcrc)) {
        require(both->value() == whole->value() && vcrc.value() == alone.value());
    }
    icrc_ok(first, packet);
    std::vector<std::byte> copy(packet.begin(), packet.end());
    if (write_icrc(first, copy)) require(icrc_ok(first, copy));
}

void vcrc(Bytes packet, std::size_t cut) {
    Vcrc table(Vcrc::Engine::table);
    table.add(packet);
    for (const auto engine : {Vcrc::Engine::table, Vcrc::Engine::carryless, Vcrc::Engine::carryless_wide}) {
        if (!Vcrc::available(engine)) continue;
        Vcrc pieces(engine);
        pieces.add(packet.first(cut));
        pieces.add(packet.subspan(cut));
        require(pieces.value() == table.value());
    }
}

void ib_packet(Bytes packet) {
    const auto check = verify(packet);
    std::vector<std::byte> copy(packet.begin(), packet.end());
    const bool sealed = seal(copy);
    require(sealed == (check != IbCheck::malformed));
    if (sealed) require(verify(copy) == IbCheck::ok);
    if (check == IbCheck::ok) require(std::vector(packet.begin(), packet.end()) == copy);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    if (size == 0) return 0;
    const Bytes packet = Bytes(reinterpret_cast<const std::byte*>(data), size).subspan(1);
    const std::size_t cut = packet.empty() ? 0 : data[0] * packet.size() / 256;
    for (const auto first : {IcrcOver::ipv4, IcrcOver::ipv6, IcrcOver::grh, IcrcOver::lrh}) icrc(first, packet, cut);
    vcrc(packet, cut);
    ib_packet(packet);
    return 0;
}
