// SPDX-License-Identifier: BSD-3-Clause
// Joins the broadcast group and asks for a path through the umad transport, prints what it saw, and leaves.
// umad_test.cc runs it under ibsim's preload library; on a machine with an adapter it runs as it is: umad_probe DEVICE
// PORT.
#include <cstdlib>

#include <fmt/format.h>

#include "control/mad/umad.h"
#include "control/sa/agent.h"
#include "datapath/wire/text.h"
#include "tests/support/path_query.h"

using namespace verbline;

static const char* state(const mad::PortFacts& port) {
    return port.active() ? "active" : "not active";
}

int main(int argc, char** argv) {
    const auto loop = *control::Loop::create();
    auto transport = mad::UmadTransport::open(argc > 1 ? argv[1] : "ibsim0", argc > 2 ? std::atoi(argv[2]) : 1, *loop);
    if (!transport) {
        fmt::print("error: {}\n", transport.error().what);
        return 1;
    }
    sa::Agent agent(**transport, *loop);
    const auto& port = agent.port();
    fmt::print("port: {}, lid {}, sm lid {}, mtu {}, gid {}\n", state(port), wire::to_string(port.lid),
               wire::to_string(port.sm_lid), port.mtu, wire::to_string(port.gid()));

    int outstanding = 2;
    const auto finished = [&] {
        if (--outstanding == 0) loop->stop();
    };
    const auto broadcast = *wire::from_string<wire::Gid>("ff12:401b:ffff::ffff:ffff");
    agent.groups().join(broadcast, sa::UserId{1}, wire::join_state::full_member, {}, [&](const auto& group) {
        fmt::print("group: {}\n", group ? wire::to_string(group->mlid) : sa::describe(group.error()));
        finished();
    });
    test::path_by_lid(agent.client(), port.lid, port.sm_lid, wire::PKey{0xffff}, [&](const auto& path) {
        fmt::print("path: {}\n", path ? wire::to_string(path->destination_gid) : sa::describe(path.error()));
        finished();
    });
    const auto limit = loop->after(5 * second, [&] { loop->stop(); });
    loop->run();
    // The second look at the port is by SMP as well: sysfs would not change under the preload library.
    (*transport)->refresh();
    const auto last = loop->after(50 * millisecond, [&] { loop->stop(); });
    loop->run();
    fmt::print("state: {}\n", state(port));
    return outstanding == 0 ? 0 : 2;
}
