// SPDX-License-Identifier: BSD-3-Clause
#include "control/telemetry/server.h"

#include <array>
#include <atomic>
#include <condition_variable>
#include <deque>
#include <future>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

#include <rte_eal.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "control/telemetry/counters.h"
#include "tests/support/eal.h"

namespace verbline::telemetry {
namespace {

using namespace std::chrono_literals;

/// What control/loop is to the program: a thread that runs what is posted to it.
class ControlThread {
public:
    ~ControlThread() {
        post([this] { stop_ = true; });
        thread_.join();
    }
    void post(std::function<void()> task) {
        const std::lock_guard lock(mutex_);
        tasks_.push_back(std::move(task));
        changed_.notify_one();
    }
    Executor executor() {
        return [this](std::function<void()> task) { post(std::move(task)); };
    }
    void run(const std::function<void()>& task) {
        std::promise<void> done;
        post([&] { task(), done.set_value(); });
        done.get_future().wait();
    }

private:
    void work() {
        for (std::unique_lock lock(mutex_); !stop_;) {
            changed_.wait(lock, [this] { return !tasks_.empty(); });
            auto task = std::move(tasks_.front());
            tasks_.pop_front();
            lock.unlock();
            task();
            lock.lock();
        }
    }
    std::mutex mutex_;
    std::condition_variable changed_;
    std::deque<std::function<void()>> tasks_;
    bool stop_ = false;
    std::thread thread_{[this] { work(); }};
};

/// A client of the socket as any DPDK tool is one.
class Connection {
public:
    Connection() {
        const std::string path = std::string(rte_eal_get_runtime_dir()) + "/dpdk_telemetry.v2";
        sockaddr_un address{.sun_family = AF_UNIX, .sun_path = {}};
        path.copy(address.sun_path, sizeof address.sun_path - 1);
        const timeval limit{.tv_sec = 10, .tv_usec = 0};
        setsockopt(fd_, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
        EXPECT_EQ(connect(fd_, reinterpret_cast<sockaddr*>(&address), sizeof address), 0) << path;
        receive();
    }
    Connection(const Connection&) = delete;
    Connection& operator=(const Connection&) = delete;
    ~Connection() { close(fd_); }

    std::string ask_text(const std::string& command) {
        EXPECT_EQ(send(fd_, command.data(), command.size(), 0), static_cast<ssize_t>(command.size()));
        return receive();
    }
    Json ask(const std::string& command) {
        const auto text = ask_text(command);
        const auto reply = Json::parse(text, nullptr, false);
        EXPECT_TRUE(reply.is_object() && reply.size() == 1) << text;
        return reply.is_object() && !reply.empty() ? reply.begin().value() : Json("not an object");
    }

private:
    std::string receive() {
        std::string text(64 * 1024, '\0');
        const auto n = recv(fd_, text.data(), text.size(), 0);
        EXPECT_GT(n, 0);
        text.resize(n > 0 ? static_cast<std::size_t>(n) : 0);
        return text;
    }
    int fd_ = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
};

struct Telemetry : testing::Test {
    void serve(Json rows, std::chrono::milliseconds limit = 10s) {
        serve([rows = std::move(rows)] { return rows; }, limit);
    }
    void serve(std::function<Json()> query, std::chrono::milliseconds limit = 10s) {
        control.run([&] {
            auto opened = Server::open({{"things", "rows of a test", std::move(query)}}, control.executor(), limit);
            ASSERT_TRUE(opened) << opened.error().what;
            server.emplace(std::move(*opened));
        });
    }
    void TearDown() override {
        control.run([&] { server.reset(); });
    }
    Json all_pages(Connection& connection) {
        Json rows = Json::array();
        for (;;) {
            const Json page = connection.ask(fmt::format("/verbline/things,{}", rows.size()));
            if (!page.is_object() || page.empty()) return rows;
            for (const auto& [number, row] : page.items()) {
                EXPECT_EQ(number, std::to_string(rows.size()));
                rows.push_back(row);
            }
        }
    }

    ControlThread control;
    std::optional<Server> server;
};

TEST_F(Telemetry, ShowsRowsInOrderWithTheirColumnsInOrder) {
    serve(Json::array({{{"port", "ib0"}, {"mtu", 2044u}, {"change", -3}}, {{"port", "lan"}, {"mtu", 1500u}}}));
    EXPECT_EQ(Connection().ask_text("/verbline/things"),
              R"({"/verbline/things":{"0":{"port":"ib0","mtu":2044,"change":-3},"1":{"port":"lan","mtu":1500}}})");
}

TEST_F(Telemetry, ShowsAFlatObject) {
    serve(Json{{"pid", 17u}, {"name", "gw"}});
    EXPECT_EQ(Connection().ask("/verbline/things"), (Json{{"pid", 17u}, {"name", "gw"}}));
}

TEST_F(Telemetry, AnEmptyTableIsAnEmptyObject) {
    serve(Json::array());
    EXPECT_EQ(Connection().ask_text("/verbline/things"), R"({"/verbline/things":{}})");
}

TEST_F(Telemetry, QueriesRunOnTheControlThread) {
    std::atomic<std::thread::id> asked, own;
    control.run([&] { own = std::this_thread::get_id(); });
    serve([&] { return asked = std::this_thread::get_id(), Json::array(); });
    Connection().ask("/verbline/things");
    EXPECT_EQ(asked.load(), own.load());
}

TEST_F(Telemetry, TablesBeyondOneReplyComeInPages) {
    Json rows = Json::array();
    for (unsigned i = 0; i < 3000; ++i) rows.push_back({{"i", i}, {"text", std::string(i % 90, 'x')}});
    serve(rows);
    Connection connection;
    EXPECT_EQ(all_pages(connection), rows);
}

TEST_F(Telemetry, PagesAreCutFromOneAnswer) {
    std::atomic<unsigned> answers = 0;
    serve([&] {
        const Json row{{"answer", ++answers}};
        return Json(1000, row);
    });
    Connection connection;
    for (const auto& row : all_pages(connection)) ASSERT_EQ(row["answer"], 1u);
    connection.ask("/verbline/things");
    EXPECT_GE(answers, 2u) << "page 0 is fresh";
}

TEST_F(Telemetry, PagesHoldAllRowsAtTheLimits) {
    Json wide;
    for (int i = 0; i < 256; ++i) wide[fmt::format("k{}", i)] = static_cast<unsigned>(i);
    Json rows = Json::array({wide});
    for (unsigned i = 0; i < 700; ++i) rows.push_back({{"i", i}});
    for (unsigned i = 0; i < 400; ++i) rows.push_back({{"s", std::string(127, 'y')}});
    serve(rows);
    Connection connection;
    EXPECT_EQ(all_pages(connection), rows);
}

TEST_F(Telemetry, ARowTooLargeForAnyReplyIsCutAndThoseAfterItStillCome) {
    Json huge;
    for (int i = 0; i < 300; ++i) huge[fmt::format("k{}", i)] = std::string(120, 'z');
    serve(Json::array({huge, {{"after", 1u}}}));
    Connection connection;
    const auto rows = all_pages(connection);
    ASSERT_EQ(rows.size(), 2u);
    EXPECT_EQ(rows[1], (Json{{"after", 1u}}));
}

TEST_F(Telemetry, WhatTheLibraryCannotSayIsSaidOtherwise) {
    serve(Json{{"true", true},
               {"null", nullptr},
               {"fraction", 0.5},
               {"far", std::int64_t{-5'000'000'000}},
               {"large", std::uint64_t{1} << 63},
               {"list", {1, 2}},
               {"bytes", "a\"b\\c\n\x01\x7f\xff\xc3\xa9"},
               {"long", std::string(500, 'q')},
               {"odd key.", 1u}});
    EXPECT_EQ(Connection().ask("/verbline/things"), (Json{{"true", 1},
                                                          {"fraction", "0.5"},
                                                          {"far", "-5000000000"},
                                                          {"large", std::uint64_t{1} << 63},
                                                          {"list", "[1,2]"},
                                                          {"bytes", "a\"b\\c??????"},
                                                          {"long", std::string(124, 'q') + "..."},
                                                          {"odd_key_", 1u}}));
}

TEST_F(Telemetry, RefusesAnOffsetThatIsNoNumber) {
    serve(Json::array({{{"i", 1u}}}));
    Connection connection;
    for (const auto* bad : {"x", "-1", "1x", "1,2", "99999999999999999999999"})
        EXPECT_TRUE(connection.ask("/verbline/things," + std::string(bad)).is_null()) << bad;
    EXPECT_EQ(connection.ask("/verbline/things,1"), Json::object());
    EXPECT_EQ(connection.ask("/verbline/things,18446744073709551615"), Json::object());
}

TEST_F(Telemetry, ABusyControlThreadIsGivenUpInTime) {
    std::promise<void> release;
    serve([] { return Json::array(); }, 50ms);
    control.post([&] { release.get_future().wait(); });
    EXPECT_TRUE(Connection().ask("/verbline/things").is_null());
    release.set_value();
    EXPECT_EQ(Connection().ask("/verbline/things"), Json::object()) << "and asked again once it is free";
}

TEST_F(Telemetry, ClosingWakesWhoeverWaitsAndRunsNoQueryAfterwards) {
    std::atomic<bool> asked = false;
    std::promise<void> posted;
    bool announced = false;
    control.run([&] {
        const auto executor = [&](std::function<void()> task) {
            control.post(std::move(task));
            if (!std::exchange(announced, true)) posted.set_value();
        };
        server.emplace(*Server::open({{"things", "", [&] { return asked = true, Json::array(); }}}, executor, 1min));
    });
    std::jthread client;
    control.run([&] {
        client = std::jthread([] { EXPECT_TRUE(Connection().ask("/verbline/things").is_null()); });
        posted.get_future().wait();  // the question is in the queue, behind this very task
        server.reset();
    });
    client.join();
    control.run([] {});
    EXPECT_FALSE(asked);
    EXPECT_TRUE(Connection().ask("/verbline/things").is_null()) << "a closed server answers null";
}

TEST_F(Telemetry, OneServerAtATimeAndAnotherAfterIt) {
    serve(Json::array({{{"server", "first"}}}));
    control.run([&] {
        const auto second = Server::open({}, control.executor());
        ASSERT_FALSE(second);
        EXPECT_EQ(second.error().code, EBUSY);
        server.reset();
    });
    serve(Json::array({{{"server", "next"}}}));
    EXPECT_EQ(Connection().ask("/verbline/things")["0"]["server"], "next");
}

TEST_F(Telemetry, RefusesANameThatDpdkWouldNotTake) {
    for (const auto* name : {"", "a b", "a,b", "../x"})
        EXPECT_FALSE(Server::open({{name, "", [] { return Json(); }}}, control.executor())) << name;
}

TEST(CounterRows, HoldsOneRowPerCounter) {
    Counter counter;
    counter.add(7);
    CounterRows rows;
    rows.of("ib0")("rx_dropped_pkey", counter.value(), "frames of another partition");
    EXPECT_EQ(std::move(rows).take().dump(),
              R"([{"owner":"ib0","name":"rx_dropped_pkey","value":7,"help":"frames of another partition"}])");
}

}  // namespace
}  // namespace verbline::telemetry
