// SPDX-License-Identifier: BSD-3-Clause
#include "datapath/wire/icrc.h"

#include <algorithm>
#include <array>
#include <utility>

#include <isa-l/crc.h>

#include "datapath/wire/crc_fold.h"
#include "datapath/wire/reflected.h"

// How masked fields are treated as ones without modifying or copying the packet.
//
// A CRC is linear: if byte i of the packet differs by d from what should be hashed, the same result comes from the
// packet as it is and a starting state that differs by d carried back over i bytes. That carry depends on i and d
// alone, so the difference each masked byte makes to the seed is a table look-up, and the bulk runs over the packet in
// place, in one call.

namespace verbline::wire {
namespace {

/// The inverse of `times_x`: the generator's top bit is set.
constexpr std::uint32_t one_bit_back(std::uint32_t state) {
    return state >> 31 ? (state ^ reflected_generator) << 1 | 1 : state << 1;
}

/// Which bits of the headers, from the first covered byte through the BTH, count as ones.
template <IcrcOver first>
struct Ones {
    std::array<std::uint8_t, icrc_headers(first)> bits{};

    template <class Field>
    constexpr void mark(std::size_t header) {
        for (auto bit = header * 8 + Field::begin; bit < header * 8 + Field::begin + Field::width; ++bit) {
            bits[bit / 8] |= static_cast<std::uint8_t>(0x80 >> bit % 8);
        }
    }
    template <class Header, auto... members>
    constexpr void mark_members(std::size_t header) {
        (mark<typename Header::Layout::template of<members>>(header), ...);
    }
    constexpr void mark_congestion(std::size_t bth) {
        mark_members<Bth, &Bth::fecn, &Bth::becn>(bth);
        mark<Reserved<at(4, 2), 6>>(bth);
    }
};

constexpr void mark_headers(Ones<IcrcOver::ipv4>& ones) {
    ones.mark_members<Ipv4, &Ipv4::dscp, &Ipv4::ecn, &Ipv4::time_to_live, &Ipv4::checksum>(0);
    ones.mark_members<Udp, &Udp::checksum>(Ipv4::size);
}
constexpr void mark_headers(Ones<IcrcOver::ipv6>& ones) {
    ones.mark_members<Ipv6, &Ipv6::dscp, &Ipv6::ecn, &Ipv6::flow_label, &Ipv6::hop_limit>(0);
    ones.mark_members<Udp, &Udp::checksum>(Ipv6::size);
}
constexpr void mark_headers(Ones<IcrcOver::grh>& ones) {
    ones.mark_members<Grh, &Grh::traffic_class, &Grh::flow_label, &Grh::hop_limit>(0);
}
constexpr void mark_headers(Ones<IcrcOver::lrh>& ones) {
    ones.mark_members<Lrh, &Lrh::virtual_lane>(0);
}

template <IcrcOver first>
constexpr Ones<first> masked = [] {
    Ones<first> ones;
    mark_headers(ones);
    ones.mark_congestion(icrc_headers(first) - Bth::size);
    return ones;
}();

/// A byte with masked bits, and the change of the seed for each of its values.
struct MaskedByte {
    std::size_t at = 0;
    std::array<std::uint32_t, 256> adjustment{};

    constexpr MaskedByte() = default;
    constexpr MaskedByte(std::size_t offset, std::uint8_t bits) : at(offset) {
        for (unsigned bit = 0; bit < 8; ++bit) {
            std::uint32_t carried = 1u << bit;
            for (std::size_t n = 0; n < at * 8; ++n) carried = one_bit_back(carried);
            for (unsigned value = 0; value < 256; ++value) {
                if (~value & bits & 1u << bit) adjustment[value] ^= carried;
            }
        }
    }
};

template <IcrcOver first>
constexpr auto masked_bytes = [] {
    constexpr auto& bits = masked<first>.bits;
    std::array<MaskedByte, std::ranges::count_if(bits, [](auto b) { return b != 0; })> bytes;
    auto next = bytes.begin();
    for (std::size_t i = 0; i < bits.size(); ++i) {
        if (bits[i] != 0) *next++ = MaskedByte(i, bits[i]);
    }
    return bytes;
}();

constexpr std::uint32_t ones = 0xffff'ffff;
constexpr std::uint32_t after_lrh_of_ones = [] {
    std::uint32_t state = ones;
    for (std::size_t bit = 0; bit < Lrh::size * 8; ++bit) state = times_x(state ^ 1);
    return state;
}();
static_assert(after_lrh_of_ones == 0xdebb'20e3);

// ISA-L's AVX-512 code returns with the upper halves of the vector registers in use, though the calling convention
// requires them clear; until they are, instructions on the lower halves are slow: to open a packet then takes 200 ns
// more.
void clear_upper_halves() {
#ifdef __x86_64__
    if (__builtin_cpu_supports("avx")) {
        asm volatile("vzeroupper" ::
                         : "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8", "xmm9", "xmm10",
                           "xmm11", "xmm12", "xmm13", "xmm14", "xmm15");
    }
#endif
}

// ISA-L is for CPUs that cannot fold. On those that can, its code for registers of 128 bits takes twice as long, and
// that for 512 bits a seventh longer from 1 KB on, as long for less.
bool should_fold(Bytes bytes) {
    return bytes.size() >= least_folded && can_fold_crcs();
}

// Continues the CRC-32 `crc` over `bytes`. The library takes and returns CRCs, i.e. complemented states.
std::uint32_t crc32(std::uint32_t crc, Bytes bytes) {
    if (should_fold(bytes)) return ~fold_icrc(~crc, bytes);
    auto* data = reinterpret_cast<unsigned char*>(const_cast<std::byte*>(bytes.data()));  // its prototype lacks a const
    const auto continued = crc32_gzip_refl(crc, data, bytes.size());
    clear_upper_halves();
    return continued;
}

// What the CRC over the headers as they are begins with, to be that over the masked ones.
template <IcrcOver first>
std::uint32_t seed_of(Bytes head) {
    const auto seed = [head]<std::size_t... i>(std::index_sequence<i...>) {
        constexpr std::uint32_t begin = ~(first == IcrcOver::lrh ? ones : after_lrh_of_ones);
        return (begin ^ ... ^ masked_bytes<first>[i].adjustment[load8(head, masked_bytes<first>[i].at)]);
    };
    return seed(std::make_index_sequence<masked_bytes<first>.size()>());
}

std::uint32_t seed_of(IcrcOver first, Bytes head) {
    switch (first) {
        case IcrcOver::ipv4: return seed_of<IcrcOver::ipv4>(head);
        case IcrcOver::ipv6: return seed_of<IcrcOver::ipv6>(head);
        case IcrcOver::grh: return seed_of<IcrcOver::grh>(head);
        case IcrcOver::lrh: return seed_of<IcrcOver::lrh>(head);
    }
    std::unreachable();
}

}  // namespace

std::uint32_t Icrc::over_headers(IcrcOver first, Bytes head) {
    return crc32(seed_of(first, head), head);
}

Parsed<Icrc> Icrc::begin(IcrcOver first, Bytes head, Vcrc& vcrc) {
    if (const auto fault = fault_of(first, head)) return std::unexpected(*fault);
    const auto seed = seed_of(first, head);
    if (!can_fold_crcs()) {
        vcrc.add(head);
        return Icrc(crc32(seed, head));
    }
    const auto [icrc, state] = fold_crcs({~seed, vcrc.state_}, head);
    vcrc.state_ = state;
    return Icrc(~icrc);
}

void Icrc::add(const IcrcZeros& zeros) {
    crc_ = ~zeros.behind(~crc_);
}

void Icrc::add(Bytes bytes) {
    crc_ = crc32(crc_, bytes);
}

std::array<std::byte, icrc_size> Icrc::bytes() const {
    return {static_cast<std::byte>(crc_), static_cast<std::byte>(crc_ >> 8), static_cast<std::byte>(crc_ >> 16),
            static_cast<std::byte>(crc_ >> 24)};
}

bool write_icrc(IcrcOver first, MutableBytes packet) {
    if (packet.size() < icrc_size) return false;
    const auto icrc = Icrc::begin(first, packet.first(packet.size() - icrc_size));
    if (!icrc) return false;
    std::ranges::copy(icrc->bytes(), packet.last<icrc_size>().begin());
    return true;
}

bool icrc_ok(IcrcOver first, Bytes packet) {
    if (packet.size() < icrc_headers(first) + icrc_size) return false;
    const auto icrc = Icrc::begin(first, packet);
    return icrc && icrc->verifies();
}

}  // namespace verbline::wire
