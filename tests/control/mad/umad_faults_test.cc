// SPDX-License-Identifier: BSD-3-Clause
// The kernel's MADs while each call of libibumad's, and ours, fails once. Its port is one of the test's, whose SMPs are
// answered and whose other MADs come back.
#include <cerrno>
#include <cstring>
#include <deque>
#include <memory>
#include <vector>

#include <dirent.h>
#include <dlfcn.h>
#include <infiniband/umad.h>
#include <sys/eventfd.h>

#include <gtest/gtest.h>

#include "control/mad/umad.h"
#include "datapath/wire/mad.h"
#include "tests/support/faults.h"
#include "tests/support/faults_state.h"

namespace verbline::test {
namespace {

/// What libibumad and the kernel hold.
struct FakePort {
    struct Arrival {
        int agent;
        std::array<std::byte, wire::mad_size> mad;
    };
    int initialised = 0, open = 0, listed = 0, agents = 0;
    FileDescriptor event;
    std::deque<Arrival> arrivals;

    void arrive(int agent, const std::byte* mad) {
        Arrival arrival{.agent = agent, .mad = {}};
        std::memcpy(arrival.mad.data(), mad, arrival.mad.size());
        const auto header = wire::Mad::parse(arrival.mad);
        if (header->management_class == wire::MadClass::subnet_directed_route) answer(arrival.mad, *header);
        arrivals.push_back(arrival);
        eventfd_write(event.get(), 1);
    }
    static void answer(std::span<std::byte, wire::mad_size> mad, wire::Mad header) {
        header.method = wire::MadMethod::get_response;
        header.emit(mad.first<wire::Mad::size>());
        const auto data = mad.subspan(wire::smp_data_offset, wire::smp_data_size);
        if (header.attribute == static_cast<std::uint16_t>(wire::AttributeId::port_info)) {
            data[17] = std::byte{3}, data[19] = std::byte{1}, data[32] = std::byte{4};  // LID, SM's LID, active
        } else {
            data[0] = data[1] = std::byte{0xff};  // the default P_Key
        }
    }
} port;

}  // namespace
}  // namespace verbline::test

using verbline::test::port, verbline::test::faults::injected, verbline::test::WithoutFaults;

// NOLINTBEGIN(bugprone-reserved-identifier): the linker (--wrap) chooses these names
// Used: link-time optimisation does not see the calls that the linker turns into these.
extern "C" {

DIR* opendir_of_test(const char* path) __asm__("opendir");
DIR* opendir_of_test(const char* path) {
    static const auto real = reinterpret_cast<DIR* (*)(const char*)>(dlsym(RTLD_NEXT, "opendir"));
    return real(std::strcmp(path, "/sys/class/infiniband_mad") == 0 ? "/" : path);
}
[[gnu::used]] int __wrap_umad_init();
int __wrap_umad_init() {
    if (injected("umad_init", {EMFILE}) != 0) return -1;
    return ++port.initialised, 0;
}
[[gnu::used]] int __wrap_umad_done();
int __wrap_umad_done() {
    return --port.initialised, 0;
}
[[gnu::used]] int __wrap_umad_open_port(const char*, int);
int __wrap_umad_open_port(const char*, int) {
    if (const int error = injected("umad_open_port", {EMFILE, EACCES})) return -error;
    const WithoutFaults opening;
    port.event = verbline::FileDescriptor(eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC | EFD_SEMAPHORE));
    return ++port.open, 0;
}
[[gnu::used]] int __wrap_umad_close_port(int);
int __wrap_umad_close_port(int) {
    port.event = {};
    port.arrivals.clear();
    port.agents = 0;
    return --port.open, 0;
}
[[gnu::used]] int __wrap_umad_register(int, int, int, std::uint8_t, long*);
int __wrap_umad_register(int, int, int, std::uint8_t, long*) {
    if (const int error = injected("umad_register", {ENOMEM, EPERM})) return -error;
    return port.agents++;
}
[[gnu::used]] int __wrap_umad_get_port(const char*, int, umad_port_t*);
int __wrap_umad_get_port(const char*, int, umad_port_t* out) {
    static __be16 pkey = 0xffff;
    if (const int error = injected("umad_get_port", {EIO, ENOMEM})) return -error;
    *out = {};
    out->base_lid = 3, out->sm_lid = 1, out->state = 4, out->pkeys_size = 1, out->pkeys = &pkey;
    return ++port.listed, 0;
}
[[gnu::used]] int __wrap_umad_release_port(umad_port_t*);
int __wrap_umad_release_port(umad_port_t*) {
    return --port.listed, 0;
}
[[gnu::used]] int __wrap_umad_get_fd(int);
int __wrap_umad_get_fd(int) {
    return port.event.get();
}
[[gnu::used]] int __wrap_umad_poll(int, int);
int __wrap_umad_poll(int, int) {
    if (const int error = injected("umad_poll", {EINTR})) return -error;
    return port.arrivals.empty() ? -ETIMEDOUT : 0;
}
[[gnu::used]] int __wrap_umad_send(int, int, void*, int, int, int);
int __wrap_umad_send(int, int agent, void* umad, int, int, int) {
    if (const int error = injected("umad_send", {EAGAIN, EINTR, ENOMEM})) return -error;
    const WithoutFaults sending;
    return port.arrive(agent, static_cast<const std::byte*>(umad_get_mad(umad))), 0;
}
[[gnu::used]] int __wrap_umad_recv(int, void*, int*, int);
int __wrap_umad_recv(int, void* umad, int* length, int) {
    if (port.arrivals.empty()) return -EWOULDBLOCK;
    if (const int error = injected("umad_recv", {EINTR, EAGAIN})) return -error;
    const auto& arrival = port.arrivals.front();
    std::memcpy(umad_get_mad(umad), arrival.mad.data(), arrival.mad.size());
    *length = static_cast<int>(arrival.mad.size());
    const int agent = arrival.agent;
    port.arrivals.pop_front();
    eventfd_t one;
    const WithoutFaults reading;
    eventfd_read(port.event.get(), &one);
    return agent;
}

}  // extern "C"
// NOLINTEND(bugprone-reserved-identifier)

namespace verbline::mad {
namespace {

using test::Outcome;

MadBuffer cm_mad() {
    MadBuffer mad{};
    wire::Mad{.management_class = wire::MadClass::communication, .class_version = 2, .method = wire::MadMethod::send}
        .emit(std::span(mad).first<wire::Mad::size>());
    return mad;
}

Outcome run() {
    auto loop = control::Loop::create();
    if (!loop) return loop.error();
    auto opened = UmadTransport::open("mlx5_0", 1, **loop);
    if (!opened) return opened.error();
    auto& transport = **opened;
    transport.refresh();
    (*loop)->run_once(millisecond);
    bool received = false;
    transport.receive(wire::MadClass::communication, [&](const MadAddress&, MadBytes) { received = true; });
    transport.send({.lid = wire::Lid{3}, .qpn = wire::Qpn{1}}, cm_mad(), second);
    const auto lost = [&] { return transport.counters().tx_errors.value() != 0; };
    for (const auto end = (*loop)->now() + 2 * second; !received && !lost() && (*loop)->now() < end;) {
        (*loop)->run_once(millisecond);
    }
    EXPECT_TRUE(received || lost());
    const WithoutFaults again;  // what went wrong is over
    transport.refresh();
    for (int round = 0; round < 4; ++round) (*loop)->run_once(millisecond);
    EXPECT_TRUE(transport.port().active());
    EXPECT_EQ(transport.port().lid, wire::Lid{3});
    EXPECT_EQ(transport.port().pkeys.front(), wire::PKey{0xffff});
    return {};
}

TEST(UmadFaults, APortIsOpenedWhollyOrNotAtAll) {
    const auto tally = test::expect_survives_faults("umad", []() -> Outcome {
        Outcome outcome;
        try {
            outcome = run();
        } catch (const std::bad_alloc&) {
            outcome = Error{ENOMEM, "out of memory"};
        }
        EXPECT_EQ(port.open, 0);
        EXPECT_EQ(port.initialised, 0);
        EXPECT_EQ(port.listed, 0) << "what libibumad has allocated is not given back";
        port = {};
        return outcome;
    });
    EXPECT_GT(tally.errors, 5u);
}

}  // namespace
}  // namespace verbline::mad
