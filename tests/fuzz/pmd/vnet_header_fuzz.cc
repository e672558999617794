// SPDX-License-Identifier: BSD-3-Clause
// No virtio header makes us touch bytes outside its packet, and what is accepted can be handed back to the kernel.
#include <cstring>

#include "pmd/tun/vnet_header.h"
#include "tests/fuzz/datapath/packets.h"

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
    using namespace verbline;
    pmd::VnetHeader header;
    if (size < sizeof(header) + 3) return 0;
    fuzz::Input input(std::as_bytes(std::span(data, size)));
    std::memcpy(&header, input.take(sizeof(header)).data(), sizeof(header));
    const auto carries = input.byte() % 2 == 0 ? pmd::Carries::ip : pmd::Carries::ethernet;
    const std::size_t segment = 1 + input.byte();
    auto* const packet = fuzz::make_packet(input.take(size), segment);
    if (pmd::read_vnet_header(header, carries, *packet)) {
        const auto back = pmd::make_vnet_header(*packet);
        fuzz::expect(back.has_value() || packet->ol_flags != 0);
    }
    rte_pktmbuf_free(packet);
    return 0;
}
