// SPDX-License-Identifier: BSD-3-Clause
#include "apps/verbline/metrics/http_server.h"

#include <atomic>
#include <cerrno>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>

#include <netinet/in.h>
#include <unistd.h>

#include <arpa/inet.h>
#include <gtest/gtest.h>

#include "pmd/base/file_descriptor.h"

namespace verbline::metrics {
namespace {

int refusal(const std::string& text) {
    const auto parsed = parse_endpoint(text);
    return parsed ? 0 : parsed.error().code;
}

TEST(Endpoint, IsAnAddressAndAPort) {
    EXPECT_EQ(parse_endpoint("127.0.0.1:9464")->address.ss_family, AF_INET);
    EXPECT_EQ(parse_endpoint("[::1]:9464")->address.ss_family, AF_INET6);
    EXPECT_EQ(parse_endpoint(":9464")->address.ss_family, AF_INET6);
    for (const auto* const wrong : {"", "9464", "127.0.0.1", "127.0.0.1:", "127.0.0.1:65536", "127.0.0.1:9x", "::1:94",
                                    "[127.0.0.1]:1", "localhost:1", "[::1:1", "[]:1"})
        EXPECT_EQ(refusal(wrong), EINVAL) << wrong;
}

struct HttpServerTest : testing::Test {
    HttpServerTest() {
        auto started = HttpServer::start(*parse_endpoint("127.0.0.1:0"), "127.0.0.1:0",
                                         {.path = "/metrics", .type = "text/x", .body = [this] {
                                              if (++asked == 3) throw std::runtime_error("no more");
                                              return "asked " + std::to_string(asked) + "\n";
                                          }});
        EXPECT_TRUE(started) << started.error().what;
        server.emplace(std::move(*started));
    }

    /// All that is answered until the server closes.
    std::string answer(std::string_view request) const {
        const FileDescriptor client(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
        sockaddr_in to{.sin_family = AF_INET, .sin_port = htons(server->port()), .sin_addr = {}};
        inet_pton(AF_INET, "127.0.0.1", &to.sin_addr);
        EXPECT_EQ(connect(client.get(), reinterpret_cast<sockaddr*>(&to), sizeof to), 0);
        const auto whole = std::string(request) + " HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n";
        EXPECT_EQ(write(client.get(), whole.data(), whole.size()), static_cast<ssize_t>(whole.size()));
        std::string out;
        for (char c = 0; read(client.get(), &c, 1) == 1;) out += c;
        return out;
    }

    std::atomic<int> asked{0};
    std::optional<HttpServer> server;
};

TEST_F(HttpServerTest, AsksAnewForEachRequest) {
    const auto first = answer("GET /metrics");
    EXPECT_TRUE(first.starts_with("HTTP/1.1 200 ")) << first;
    EXPECT_NE(first.find("\r\nContent-Type: text/x\r\n"), first.npos);
    EXPECT_TRUE(first.ends_with("\r\n\r\nasked 1\n"));
    EXPECT_TRUE(answer("GET /metrics").ends_with("\r\n\r\nasked 2\n"));
    EXPECT_TRUE(answer("GET /metrics").starts_with("HTTP/1.1 500 ")) << "an exception ends neither server nor process";
    EXPECT_TRUE(answer("HEAD /metrics").ends_with("\r\n\r\n"));
}

TEST_F(HttpServerTest, HasOnePage) {
    EXPECT_TRUE(answer("GET /").ends_with("/metrics\n"));
    EXPECT_TRUE(answer("GET /other").starts_with("HTTP/1.1 404 "));
    EXPECT_TRUE(answer("DELETE /metrics").starts_with("HTTP/1.1 405 "));
    EXPECT_EQ(asked, 0);
}

TEST_F(HttpServerTest, SaysWhyItCannotListen) {
    const auto taken = "127.0.0.1:" + std::to_string(server->port());
    const auto second = HttpServer::start(*parse_endpoint(taken), taken, {});
    ASSERT_FALSE(second);
    EXPECT_EQ(second.error().what, "cannot listen on " + taken + ": Address already in use");
}

}  // namespace
}  // namespace verbline::metrics
