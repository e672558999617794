// SPDX-License-Identifier: BSD-3-Clause
#include "control/telemetry/program_server.h"

#include <filesystem>
#include <string>
#include <thread>

#include <unistd.h>

#include <gtest/gtest.h>

#include "apps/verbline/instance/telemetry_client.h"

namespace verbline::telemetry {
namespace {

/// A server on a thread of its own, as in a program, and its socket.
class ProgramServerTest : public ::testing::Test {
protected:
    ProgramServerTest() {
        directory_ = std::filesystem::temp_directory_path() / ("verbline-program-server-" + std::to_string(getpid()));
        setenv("XDG_RUNTIME_DIR", directory_.c_str(), 1);
        std::filesystem::create_directories(directory_);
        socket_ = run_directory() / "programs" / "test-1";
    }
    ~ProgramServerTest() override {
        stop();
        std::filesystem::remove(socket_);
        std::filesystem::remove_all(directory_);
    }

    static std::filesystem::path run_directory() { return geteuid() == 0 ? "/run/verbline" : directory() / "verbline"; }
    static std::filesystem::path directory() { return std::getenv("XDG_RUNTIME_DIR"); }

    void serve(std::vector<Table> tables) {
        loop_ = control::Loop::create().value();
        server_ = ProgramServer::open(*loop_, socket_, std::move(tables)).value();
        thread_ = std::thread([this] { loop_->run(); });
    }
    void stop() {
        if (!thread_.joinable()) return;
        loop_->stop();
        thread_.join();
        server_.reset();
    }

    std::filesystem::path directory_, socket_;
    std::unique_ptr<control::Loop> loop_;
    std::unique_ptr<ProgramServer> server_;
    std::thread thread_;
};

Json many_rows() {
    auto rows = Json::array();
    for (int i = 0; i < 3000; ++i) rows.push_back({{"number", i}, {"text", std::string(30, 'x')}});
    return rows;
}

TEST_F(ProgramServerTest, AClientOfDpdksTelemetryReadsTables) {
    serve({{"few", "", [] { return Json::array({{{"a", 1}}, {{"a", 2}}}); }}, {"many", "", many_rows}});
    auto client = cli::TelemetryClient::connect(socket_);
    ASSERT_TRUE(client) << client.error().what;
    EXPECT_EQ(client->pid(), getpid());
    EXPECT_EQ(client->tables().value(), (std::vector<std::string>{"few", "many"}));
    EXPECT_EQ(client->table("few").value().size(), 2u);
    EXPECT_EQ(client->table("many").value(), many_rows());
}

TEST_F(ProgramServerTest, ReportsAnUnknownTable) {
    serve({});
    auto client = cli::TelemetryClient::connect(socket_).value();
    EXPECT_FALSE(client.ask("/verbline/other,0"));
    EXPECT_FALSE(client.ask("nonsense"));
}

TEST_F(ProgramServerTest, ClosesMalformedConnectionsAndServesOthers) {
    serve({{"few", "", [] { return Json::array(); }}});
    auto hostile = cli::TelemetryClient::connect(socket_).value();
    EXPECT_FALSE(hostile.ask(std::string(5000, 'x')));
    EXPECT_TRUE(cli::TelemetryClient::connect(socket_).value().table("few"));
}

TEST_F(ProgramServerTest, TakesItsSocketAway) {
    serve({});
    EXPECT_TRUE(std::filesystem::exists(socket_));
    stop();
    EXPECT_FALSE(std::filesystem::exists(socket_));
}

TEST_F(ProgramServerTest, TakesOverTheSocketOfAProcessThatWasKilled) {
    serve({});
    const auto second = ProgramServer::open(*loop_, socket_, {});
    EXPECT_TRUE(second);
}

}  // namespace
}  // namespace verbline::telemetry
