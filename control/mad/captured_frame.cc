// SPDX-License-Identifier: BSD-3-Clause
#include "control/mad/captured_frame.h"

#include <algorithm>

#include "datapath/wire/ib_packet.h"

namespace verbline::mad {

namespace {

constexpr std::uint8_t send_only = 0x64;      // BTH opcode: UD SEND ONLY (IBTA table 38)
constexpr std::uint8_t management_lane = 15;  // of QP0 only (3.5.7)

wire::PKey pkey_of(const MadAddress& far, const PortFacts& port) {
    return far.pkey_index < port.pkeys.size() ? port.pkeys[far.pkey_index] : wire::PKey{0xffff};
}

}  // namespace

CapturedFrame make_frame(Direction direction, MadBytes mad, const MadAddress& far, const PortFacts& port) {
    const bool out = direction == Direction::sent;
    const auto qpn = far.qpn == smi ? smi : gsi;
    const wire::Lrh lrh{.virtual_lane = qpn == smi ? management_lane : std::uint8_t{0},
                        .service_level = far.sl,
                        .next = wire::NextHeader::bth,
                        .destination = out ? far.lid : port.lid,
                        .packet_words = (frame_size - wire::vcrc_size) / 4,
                        .source = out ? port.lid : far.lid};
    const wire::Bth bth{.opcode = send_only, .pkey = pkey_of(far, port), .dest = qpn};
    const wire::Deth deth{.qkey = qpn == smi ? wire::QKey{0} : wire::gsi_qkey, .source = qpn};

    CapturedFrame frame{};
    std::span<std::byte, frame_size> bytes(frame);
    lrh.emit(bytes.subspan<0, wire::Lrh::size>());
    bth.emit(bytes.subspan<wire::Lrh::size, wire::Bth::size>());
    deth.emit(bytes.subspan<wire::Lrh::size + wire::Bth::size, wire::Deth::size>());
    std::ranges::copy(mad, bytes.begin() + wire::Lrh::size + wire::Bth::size + wire::Deth::size);
    wire::seal(bytes);
    return frame;
}

}  // namespace verbline::mad
