// SPDX-License-Identifier: BSD-3-Clause

/// @file
/// Any commands, of any length, with any ids and addresses, written to the rdma_cm device of a program without ports:
/// each is carried out or refused with an errno value, nothing outside of what the program gave is written, and an
/// event is told once.
///
/// The input is a row of commands: a byte that says where addresses in it point to, one of its length, and its bytes.

#include <array>
#include <memory>

#include "apps/libibverbs/ucma/commands.h"
#include "datapath/memory/guarded.h"
#include "datapath/wire/bytes.h"
#include "tests/fuzz/datapath/packets.h"

namespace verbline::verbs {
namespace {

using fuzz::expect;

constexpr std::size_t room = 4096, fence = 64;
constexpr std::byte mark{0x5a};
/// Beyond what any program can have on x86-64 and aarch64: the rest of an address may be anything.
constexpr std::uint64_t nowhere = std::uint64_t{1} << 62;

/// The program's memory: what it gave room for, between fences.
struct Memory {
    std::array<std::byte, room + 2 * fence> bytes;
    std::uint64_t address() const { return reinterpret_cast<std::uint64_t>(&bytes[fence]); }
    bool intact() const {
        const auto marked = [](std::byte byte) { return byte == mark; };
        return std::all_of(bytes.begin(), bytes.begin() + fence, marked) &&
               std::all_of(bytes.end() - fence, bytes.end(), marked);
    }
};

/// Addresses stand at the beginning of structures, or behind the first eight bytes.
void place_addresses(std::span<std::byte> structure, unsigned where, const Memory& memory) {
    for (const unsigned at : {0u, 8u}) {
        if (structure.size() < at + 8) return;
        std::uint64_t address = 0;
        std::memcpy(&address, &structure[at], sizeof address);
        const bool ours = (where >> (at / 8) & 1) != 0;
        address = ours ? memory.address() + address % 8 : address | nowhere;
        std::memcpy(&structure[at], &address, sizeof address);
    }
}

void play(wire::Bytes input) {
    Memory memory;
    memory.bytes.fill(mark);
    const auto service = rdmacm::Service::create({}, 1);
    rdmacm::EventQueue events, other;
    events.on_event = other.on_event = [] {};
    Time now = 0;
    while (input.size() >= 2) {
        const auto where = static_cast<unsigned>(input[0]);
        const auto length = std::min<std::size_t>(static_cast<std::size_t>(input[1]) * 2, input.size() - 2);
        std::vector<std::byte> bytes(input.begin() + 2, input.begin() + 2 + static_cast<std::ptrdiff_t>(length));
        input = input.subspan(2 + length);
        now += millisecond;
        if (bytes.size() > sizeof(rdma_ucm_cmd_hdr))
            place_addresses(std::span(bytes).subspan(sizeof(rdma_ucm_cmd_hdr)), where, memory);
        const auto command = Command::read(reinterpret_cast<std::uint64_t>(bytes.data()), bytes.size());
        if (!command) {
            expect(command.error().code == EINVAL);
            continue;
        }
        CommandTarget target{
            .service = *service, .events = events, .other = (where & 4) != 0 ? &other : nullptr, .now = now};
        const auto waiting = events.events.size();
        const auto done = run_command(*command, target);
        expect(done || done.error().code > 0);
        if (done && command->number() == RDMA_USER_CM_CMD_GET_EVENT) expect(events.events.size() + 1 == waiting);
        if ((where & 8) != 0) service->tick(now);
        expect(memory.intact());
    }
    service->close(events, now);
    service->close(other, now);
}

}  // namespace
}  // namespace verbline::verbs

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
    verbline::fuzz::expect(verbline::memory::install_fault_guard());
    verbline::verbs::play(std::as_bytes(std::span(data, size)));
    return 0;
}
