// SPDX-License-Identifier: BSD-3-Clause
#include "apps/verbline/instance/telemetry_client.h"

#include <fstream>
#include <functional>
#include <string>
#include <thread>

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <gtest/gtest.h>

#include "apps/verbline/instance/instance.h"
#include "tests/apps/verbline/scratch.h"

namespace verbline::cli {
namespace {

/// A telemetry socket that says what the test wants.
class FakeProcess {
public:
    /// `answer` gives the reply to a command; an empty one closes the connection.
    FakeProcess(const std::filesystem::path& path, std::string greeting,
                std::function<std::string(const std::string&)> answer)
        : greeting_(std::move(greeting)), answer_(std::move(answer)) {
        sockaddr_un address{.sun_family = AF_UNIX, .sun_path = {}};
        path.string().copy(address.sun_path, sizeof address.sun_path - 1);
        EXPECT_EQ(bind(listener_.get(), reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
        EXPECT_EQ(listen(listener_.get(), 1), 0);
        thread_ = std::jthread([this] { serve(); });
    }
    ~FakeProcess() { shutdown(listener_.get(), SHUT_RDWR); }  // wakes accept

private:
    void serve() {
        for (;;) {
            const FileDescriptor peer(accept(listener_.get(), nullptr, nullptr));
            if (!peer) return;
            serve(peer.get());
        }
    }
    void serve(int peer) {
        send(peer, greeting_.data(), greeting_.size(), MSG_NOSIGNAL);
        std::string command(1024, '\0');
        for (ssize_t n; (n = recv(peer, command.data(), command.size(), 0)) > 0;) {
            const auto reply = answer_(command.substr(0, static_cast<std::size_t>(n)));
            if (reply.empty()) return;
            send(peer, reply.data(), reply.size(), MSG_NOSIGNAL);
        }
    }
    std::string greeting_;
    std::function<std::string(const std::string&)> answer_;
    FileDescriptor listener_{socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0)};
    std::jthread thread_;
};

constexpr auto greeting = R"({"version":"DPDK","pid":42,"max_output_len":16384})";

struct TelemetryClientTest : testing::Test {
    Scratch scratch;
    std::filesystem::path socket = scratch.path() / "dpdk_telemetry.v2";

    Result<Json> ask(const std::string& reply) {
        const FakeProcess process(socket, greeting, [&](const std::string&) { return reply; });
        auto client = TelemetryClient::connect(socket);
        if (!client) return std::unexpected(client.error());
        return client->ask("/x");
    }
};

TEST_F(TelemetryClientTest, ReadsTheGreetingAndAnAnswer) {
    const FakeProcess process(socket, greeting,
                              [](const std::string& command) { return R"({")" + command + R"(":7})"; });
    auto client = TelemetryClient::connect(socket);
    ASSERT_TRUE(client) << client.error().what;
    EXPECT_EQ(client->pid(), 42);
    EXPECT_EQ(client->ask("/x").value(), 7);
}

TEST_F(TelemetryClientTest, RequestsPagesUntilOneIsEmpty) {
    const FakeProcess process(socket, greeting, [](const std::string& command) -> std::string {
        if (command == "/verbline/t,0") return R"({"/verbline/t":{"0":{"i":0},"1":{"i":1}}})";
        if (command == "/verbline/t,2") return R"({"/verbline/t":{"2":{"i":2}}})";
        if (command == "/verbline/t,3") return R"({"/verbline/t":{}})";
        return "";
    });
    auto client = TelemetryClient::connect(socket);
    ASSERT_TRUE(client);
    const auto rows = client->table("t");
    ASSERT_TRUE(rows) << rows.error().what;
    EXPECT_EQ(rows->dump(), R"([{"i":0},{"i":1},{"i":2}])");
}

TEST_F(TelemetryClientTest, KnowsTheTablesOfAProcess) {
    const FakeProcess process(socket, greeting, [](const std::string& command) -> std::string {
        return command == "/" ? R"({"/": ["/", "/eal/params", "/verbline/hub", 7, "/verbline/counters"]})" : "{}";
    });
    auto client = TelemetryClient::connect(socket).value();
    EXPECT_EQ(client.tables().value(), (std::vector<std::string>{"hub", "counters"}));
}

TEST_F(TelemetryClientTest, AFlatObjectHasNoPages) {
    const FakeProcess process(socket, greeting,
                              [](const std::string&) { return R"({"/verbline/t":{"a":1,"b":"x"}})"; });
    auto client = TelemetryClient::connect(socket);
    ASSERT_TRUE(client);
    EXPECT_EQ(client->table("t")->dump(), R"({"a":1,"b":"x"})");
}

TEST_F(TelemetryClientTest, ATableThatNeverEndsIsCutOff) {
    std::string page = R"({"/verbline/t":{)";
    for (int i = 0; i < 2000; ++i) page += (i ? ",\"" : "\"") + std::to_string(i) + R"(":{"i":1})";
    const FakeProcess process(socket, greeting, [&](const std::string&) { return page + "}}"; });
    auto client = TelemetryClient::connect(socket);
    ASSERT_TRUE(client);
    const auto rows = client->table("t");
    ASSERT_TRUE(rows);
    EXPECT_GE(rows->size(), 100'000u);
    EXPECT_LT(rows->size(), 102'001u);
}

TEST_F(TelemetryClientTest, NullMeansNoAnswer) {
    EXPECT_EQ(ask(R"({"/x":null})").error().code, ENODATA);
}

TEST_F(TelemetryClientTest, NonsenseIsAnErrorAndNoCrash) {
    for (const auto* reply : {"{", "[]", "{}", "7", "{\"a\":1,\"b\":2}", "\xff\xfe", "nonsense"}) {
        EXPECT_EQ(ask(reply).error().code, EPROTO) << reply;
        std::filesystem::remove(socket);
    }
}

TEST_F(TelemetryClientTest, AClosedConnectionIsAnError) {
    EXPECT_EQ(ask("").error().code, ECONNRESET);
}

TEST_F(TelemetryClientTest, RefusesASocketOfAnotherProgram) {
    const FakeProcess process(socket, "SSH-2.0", [](const std::string&) { return ""; });
    EXPECT_EQ(TelemetryClient::connect(socket).error().code, EPROTO);
}

TEST_F(TelemetryClientTest, ReportsThatNoServerAnswers) {
    EXPECT_EQ(TelemetryClient::connect(socket).error().code, ENOENT);
    {
        const FakeProcess gone(socket, greeting, [](const std::string&) { return ""; });
    }
    EXPECT_EQ(TelemetryClient::connect(socket).error().code, ECONNREFUSED) << "as a killed process leaves it";
    EXPECT_EQ(TelemetryClient::connect(std::string(200, 'x')).error().code, ENAMETOOLONG);
}

struct InstanceTest : testing::Test {
    Scratch scratch;
    Variable runtime{"RUNTIME_DIRECTORY", scratch.path()};

    std::filesystem::path socket_of(const std::string& name) {
        const auto directory = instance_directory(name);
        std::filesystem::create_directories(directory);
        std::ofstream(directory / lock_file).flush();
        return directory / "dpdk_telemetry.v2";
    }
    /// Those of this test: root's own directory is looked at as well.
    std::vector<std::string> names() {
        std::vector<std::string> out;
        for (const auto& instance : running_instances())
            if (instance.socket.string().starts_with(scratch.path().string())) out.push_back(instance.name);
        return out;
    }
};

TEST_F(InstanceTest, LivesUnderDpdksRuntimeDirectory) {
    EXPECT_EQ(instance_directory("gw"), scratch.path() / "dpdk" / "verbline-gw");
}

TEST_F(InstanceTest, OnlyThoseThatAnswerAreRunning) {
    {
        const FakeProcess killed(socket_of("killed"), greeting, [](const std::string&) { return ""; });
    }
    std::filesystem::create_directories(instance_directory("never"));
    const FakeProcess b(socket_of("b"), greeting, [](const std::string&) { return ""; });
    EXPECT_EQ(names(), std::vector<std::string>{"b"});
}

TEST_F(InstanceTest, OtherProgramsAreNone) {
    const auto socket = socket_of("test");
    std::filesystem::remove(socket.parent_path() / lock_file);
    const FakeProcess other(socket, greeting, [](const std::string&) { return ""; });
    EXPECT_TRUE(names().empty());
}

TEST_F(InstanceTest, IsFoundByName) {
    const FakeProcess b(socket_of("unlikely-name"), greeting, [](const std::string&) { return ""; });
    const auto found = find_instance("unlikely-name");
    ASSERT_TRUE(found) << found.error().what;
    EXPECT_EQ(found->pid, 42);
    EXPECT_FALSE(find_instance("another-unlikely-name"));
}

TEST(InstanceName, BecomesPartOfAPath) {
    for (const auto* good : {"gw", "a", "ib-a", "x_1.b", "0"}) EXPECT_TRUE(valid_instance_name(good)) << good;
    for (const auto* bad : {"", ".", "..", "a/b", "a b", "-x", ".x", "\n", "é"})
        EXPECT_FALSE(valid_instance_name(bad)) << bad;
    EXPECT_TRUE(valid_instance_name(std::string(64, 'a')));
    EXPECT_FALSE(valid_instance_name(std::string(65, 'a')));
}

}  // namespace
}  // namespace verbline::cli
