// SPDX-License-Identifier: BSD-3-Clause
#include "apps/libibverbs/namespace/private_namespace.h"

#include <array>
#include <cstring>
#include <fstream>
#include <functional>
#include <iterator>
#include <set>
#include <string>
#include <utility>

#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <unistd.h>

#include <gtest/gtest.h>

#include "datapath/wire/text.h"
#include "pmd/base/file_descriptor.h"

namespace verbline::verbs {
namespace {

namespace fs = std::filesystem;

constexpr uid_t nobody = 65534;

std::string read(const fs::path& file) {
    std::ifstream in(file);
    return {std::istreambuf_iterator<char>(in), {}};
}

std::vector<DeviceFacts> devices() {
    return {{.name = "verbline0",
             .active = true,
             .gids = {{}},
             .interface = {},
             .firmware = {},
             .board = {},
             .counters = {},
             .hw_counters = {}},
            {.name = "verbline_ib0",
             .index = 1,
             .infiniband = true,
             .gids = {},
             .interface = {},
             .firmware = {},
             .board = {},
             .counters = {},
             .hw_counters = {}}};
}

/// A child in a namespace of its own, as `user`. It says in one line what `look` found and stays until the test ends,
/// so that the test can look at it from outside.
class Child {
public:
    Child(uid_t user, const std::function<std::string()>& look) {
        int ends[2];
        if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) std::abort();
        pid_ = fork();
        if (pid_ == 0) {
            close(ends[0]);
            live(ends[1], user, look);
        }
        close(ends[1]);
        pipe_ = FileDescriptor(ends[0]);
        pollfd ready{.fd = ends[0], .events = POLLIN, .revents = 0};
        std::array<char, 512> text{};
        if (poll(&ready, 1, 10'000) == 1 && ::read(ends[0], text.data(), text.size() - 1) > 0) found_ = text.data();
    }
    Child(const Child&) = delete;
    Child& operator=(const Child&) = delete;
    ~Child() {
        pipe_ = FileDescriptor();
        waitpid(pid_, nullptr, 0);
    }

    /// What `look` returned; "failed: ..." if there is no namespace; empty if nothing came in time.
    const std::string& found() const { return found_; }
    /// A path as the child sees it.
    fs::path root(const std::string& path) const { return "/proc/" + std::to_string(pid_) + "/root" + path; }

private:
    [[noreturn]] static void live(int pipe, uid_t user, const std::function<std::string()>& look) {
        if (user != geteuid() && (setgid(user) != 0 || setuid(user) != 0)) _exit(1);
        prctl(PR_SET_DUMPABLE, 1);  // as after execve: otherwise its files in /proc are root's
        const auto entered = enter_private_namespace(devices(), UserNamespace::allowed);
        const auto text = entered ? look() : "failed: " + entered.error().what;
        char end = 0;
        if (write(pipe, text.data(), text.size()) > 0) [[maybe_unused]]
            const auto n = ::read(pipe, &end, 1);
        _exit(0);
    }

    pid_t pid_ = -1;
    FileDescriptor pipe_;
    std::string found_;
};

/// What programs look for: everything that is not so, in words.
std::string missing() {
    std::string out;
    const auto want = [&](bool good, const char* what) { out += good ? "" : std::string(what) + "; "; };
    struct stat node{};
    want(read("/sys/class/infiniband/verbline0/ports/1/link_layer") == "Ethernet\n", "verbline0");
    want(read("/sys/class/infiniband/verbline_ib0/ports/1/link_layer") == "InfiniBand\n", "verbline_ib0");
    want(read("/sys/class/infiniband_verbs/uverbs1/ibdev") == "verbline_ib0\n", "uverbs1");
    want(read("/sys/class/infiniband_mad/umad1/ibdev") == "verbline_ib0\n", "umad1");
    want(access("/dev/infiniband/umad1", R_OK | W_OK) == 0, "/dev/infiniband/umad1");
    want(read("/sys/class/misc/rdma_cm/abi_version") == "4\n", "rdma_cm");
    want(stat("/dev/infiniband/uverbs0", &node) == 0 && S_ISCHR(node.st_mode), "/dev/infiniband/uverbs0");
    for (const auto* name : {"/dev/infiniband/uverbs0", "/dev/infiniband/rdma_cm"})
        want(stat(name, &node) == 0 && node.st_rdev == makedev(1, 3), "harmless number");
    want(access("/dev/infiniband/uverbs1", R_OK | W_OK) == 0, "/dev/infiniband/uverbs1");
    want(stat("/dev/infiniband/rdma_cm", &node) == 0 && S_ISCHR(node.st_mode), "/dev/infiniband/rdma_cm");
    // What was there before is still there.
    want(!read("/sys/class/net/lo/mtu").empty(), "/sys/class/net");
    want(FileDescriptor(open("/dev/null", O_WRONLY)).get() >= 0, "/dev/null");
    want(FileDescriptor(open("/dev/urandom", O_RDONLY)).get() >= 0, "/dev/urandom");
    want(FileDescriptor(posix_openpt(O_RDWR)).get() >= 0, "terminals");
    want(access("/dev/stdin", F_OK) == 0 || errno != ELOOP, "/dev/stdin");
    const auto name = "/dev/shm/verbline-test-" + std::to_string(getpid());
    want(FileDescriptor(open(name.c_str(), O_CREAT | O_RDWR, 0600)).get() >= 0 && unlink(name.c_str()) == 0,
         "/dev/shm");
    return out.empty() ? "everything" : "missing: " + out;
}

class PrivateNamespace : public testing::TestWithParam<uid_t> {
protected:
    void SetUp() override {
        if (geteuid() != 0) GTEST_SKIP() << "needs root, to be root and somebody else in turn";
        const Child probe(GetParam(), [] { return std::string("here"); });
        if (GetParam() != 0 && probe.found().starts_with("failed: user namespace"))
            GTEST_SKIP() << "this kernel gives users no namespaces of their own";
    }
};

/// Where the private entries are mounted; others may run now, or have been killed.
std::set<std::string> run_directories() {
    std::set<std::string> names;
    for (const auto& entry : fs::directory_iterator(fs::temp_directory_path())) {
        if (auto name = entry.path().filename().string(); name.starts_with("verbline-run-"))
            names.insert(std::move(name));
    }
    return names;
}

TEST_P(PrivateNamespace, HasTheDevicesAndAllThatWasThere) {
    const Child child(GetParam(), missing);
    EXPECT_EQ(child.found(), "everything");
}

TEST_P(PrivateNamespace, IsInvisibleFromOutside) {
    const bool had = fs::exists("/sys/class/infiniband/verbline0"), had_nodes = fs::exists("/dev/infiniband/uverbs1");
    const auto before = run_directories();
    const Child child(GetParam(), missing);
    EXPECT_EQ(fs::exists("/sys/class/infiniband/verbline0"), had);
    EXPECT_EQ(fs::exists("/dev/infiniband/uverbs1"), had_nodes);
    for (const auto& name : run_directories()) EXPECT_TRUE(before.contains(name)) << name;
}

TEST_P(PrivateNamespace, LeavesTheUserWhoItIs) {
    const Child child(GetParam(), [] { return std::to_string(geteuid()) + " " + std::to_string(getegid()); });
    EXPECT_EQ(child.found(), std::to_string(GetParam()) + " " + std::to_string(GetParam()));
}

TEST_P(PrivateNamespace, ShowsWhatIsWrittenLater) {
    const Child child(GetParam(), [] {
        auto facts = devices()[0];
        facts.gids = {{*wire::from_string<wire::Gid>("::ffff:10.9.0.1"), GidType::roce_v2, ""}};
        const auto done = SysfsTree(sysfs_class).update(facts);
        return done ? read("/sys/class/infiniband/verbline0/ports/1/gids/0") : done.error().what;
    });
    EXPECT_EQ(child.found(), "0000:0000:0000:0000:0000:ffff:0a09:0001\n");
    if (GetParam() != 0) return;  // a file system of somebody's user namespace takes no files of root's
    // From outside, over the mount that the child sees it by.
    auto facts = devices()[0];
    facts.gids = {{*wire::from_string<wire::Gid>("::ffff:10.9.0.2"), GidType::roce_v2, ""}};
    const auto done = SysfsTree(child.root("/sys/class")).update(facts);
    ASSERT_TRUE(done) << done.error().what;
    EXPECT_EQ(read(child.root("/sys/class/infiniband/verbline0/ports/1/gids/0")),
              "0000:0000:0000:0000:0000:ffff:0a09:0002\n");
}

TEST_P(PrivateNamespace, CanBeMadeInsideAnother) {
    const Child child(GetParam(), [] {
        const auto again = enter_private_namespace(devices(), UserNamespace::allowed);
        return again ? missing() : again.error().what;
    });
    EXPECT_EQ(child.found(), "everything");
}

INSTANTIATE_TEST_SUITE_P(As, PrivateNamespace, testing::Values(0, nobody),
                         [](const auto& test) { return test.param == 0 ? "Root" : "Nobody"; });

TEST(PrivateNamespaceOfAUser, IsNotTakenUnasked) {
    if (geteuid() != 0) GTEST_SKIP() << "needs root, to become somebody else";
    const auto child = fork();
    if (child == 0) {
        if (setgid(nobody) != 0 || setuid(nobody) != 0) _exit(1);
        const auto entered = enter_private_namespace(devices(), UserNamespace::refused);
        _exit(!entered && entered.error().code == EPERM ? 0 : 2);
    }
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_EQ(WEXITSTATUS(status), 0);
}

}  // namespace
}  // namespace verbline::verbs
