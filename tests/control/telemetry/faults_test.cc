// SPDX-License-Identifier: BSD-3-Clause
// The server of a program's tables, its client on the same thread, while each call of the server fails once.
#include "tests/support/faults.h"

#include <array>
#include <filesystem>
#include <string>
#include <string_view>

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <gtest/gtest.h>

#include "control/telemetry/program_server.h"

namespace verbline::telemetry {
namespace {

using test::Outcome, test::WithoutFaults;

/// A client that asks once; it may be hung up on, but not be left waiting for a connection.
void ask(const std::filesystem::path& socket, control::Loop& loop) {
    FileDescriptor fd;
    {
        const WithoutFaults connecting;
        sockaddr_un address{.sun_family = AF_UNIX, .sun_path = {}};
        socket.string().copy(address.sun_path, sizeof(address.sun_path) - 1);
        fd = FileDescriptor(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
        ASSERT_EQ(connect(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)), 0);
        constexpr std::string_view question = "/verbline/one";
        ASSERT_EQ(send(fd.get(), question.data(), question.size(), MSG_NOSIGNAL), ssize_t{question.size()});
    }
    std::array<char, 256> answer;
    ssize_t n = -1;
    // A shortage of descriptors lets clients wait a little.
    for (int round = 0; round < 8 && n < 0; ++round) {
        loop.run_once(round < 4 ? 0 : control::Acceptor::rest);
        const WithoutFaults looking;
        n = recv(fd.get(), answer.data(), answer.size(), 0);
    }
    EXPECT_FALSE(n < 0 && errno == EAGAIN) << "nobody answers, nobody hangs up";
}

TEST(ProgramServerFaults, AnswersOrHangsUp) {
    const auto directory = std::filesystem::temp_directory_path() / ("verbline-faults-" + std::to_string(getpid()));
    setenv("XDG_RUNTIME_DIR", directory.c_str(), 1);
    std::filesystem::create_directories(directory);
    const auto socket = (geteuid() == 0 ? "/run/verbline" : directory / "verbline") / "programs" /
                        ("faults-" + std::to_string(getpid()));
    // nlohmann's JSON allocates in its destructor: without memory a process ends there.
    const auto tally = test::expect_survives_faults(
        "telemetry of a program",
        [&]() -> Outcome {
            auto loop = control::Loop::create();
            if (!loop) return loop.error();
            auto server = ProgramServer::open(**loop, socket, {{"one", "", [] { return Json::array({{{"a", 1}}}); }}});
            if (!server) {
                const WithoutFaults looking;
                EXPECT_FALSE(std::filesystem::exists(socket)) << server.error().what;
                return server.error();
            }
            ask(socket, **loop);
            return {};
        },
        test::Inject::calls);
    EXPECT_GT(tally.errors, 5u);
    std::filesystem::remove_all(directory);
}

}  // namespace
}  // namespace verbline::telemetry
