// SPDX-License-Identifier: BSD-3-Clause
#include "pmd/runtime/runtime_directory.h"

#include <functional>

#include <sched.h>
#include <sys/mount.h>

#include "tests/support/stranger.h"

namespace verbline::pmd {
namespace {

namespace fs = std::filesystem;

TEST(RuntimeDirectory, SocketWithoutSlashIsInIt) {
    EXPECT_EQ(socket_path("a.sock"), runtime_directory() / "a.sock");
    EXPECT_EQ(socket_path("./a.sock"), "./a.sock");
    EXPECT_EQ(socket_path("/tmp/a.sock"), "/tmp/a.sock");
    EXPECT_EQ(socket_path(""), "");
}

/// Runs `check` as an ordinary user with a /tmp of their own.
bool as_user_of(const fs::path& tmp, const std::function<bool()>& check) {
    const auto child = fork();
    if (child == 0) {
        const bool ready =
            unshare(CLONE_NEWNS) == 0 && mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0 &&
            mount(tmp.c_str(), "/tmp", nullptr, MS_BIND, nullptr) == 0 && unsetenv("XDG_RUNTIME_DIR") == 0;
        _exit(ready && test::as_user(12346, check) ? 0 : 1);
    }
    int status = 1;
    return waitpid(child, &status, 0) == child && status == 0;
}

const fs::path hub = "/tmp/verbline-12346/hub/default";

TEST(RuntimeDirectory, WithoutOneAPrivateDirectoryIsMade) {
    SKIP_WITHOUT_OTHER_USERS();
    const test::Place place;
    EXPECT_TRUE(as_user_of(place.directory("tmp", 01777), [] {
        struct stat status{};
        return make_runtime_directory(hub) && stat("/tmp/verbline-12346", &status) == 0 &&
               (status.st_mode & 07777) == 0700 && make_runtime_directory(hub);
    }));
}

TEST(RuntimeDirectory, StrangersStandInIsRefused) {
    SKIP_WITHOUT_OTHER_USERS();
    const test::Place place;
    const auto tmp = place.directory("tmp", 01777);
    place.directory("tmp/verbline-12346", 0777, test::stranger);
    EXPECT_TRUE(as_user_of(tmp, [] {
        const auto made = make_runtime_directory(hub);
        return !made && made.error().code == EPERM && made.error().what.contains("belongs to user 12345") &&
               made.error().what.contains("XDG_RUNTIME_DIR");
    }));
    EXPECT_FALSE(fs::exists(tmp / "verbline-12346/hub")) << "nothing is made in it";
}

TEST(RuntimeDirectory, OwnStandInOpenToOthersIsRefused) {
    SKIP_WITHOUT_OTHER_USERS();
    const test::Place place;
    const auto tmp = place.directory("tmp", 01777);
    place.directory("tmp/verbline-12346", 0755, 12346);
    EXPECT_TRUE(as_user_of(tmp, [] {
        const auto made = make_runtime_directory(hub);
        return !made && made.error().code == EPERM && made.error().what.contains("chmod 700");
    }));
}

TEST(RuntimeDirectory, LinkInItsPlaceIsRefused) {
    SKIP_WITHOUT_OTHER_USERS();
    const test::Place place;
    const auto tmp = place.directory("tmp", 01777);
    place.directory("tmp/real", 0700, 12346);
    fs::create_symlink("real", tmp / "verbline-12346");
    test::give_to(tmp / "verbline-12346", test::stranger);
    EXPECT_TRUE(as_user_of(tmp, [] { return !make_runtime_directory(hub); }));
}

}  // namespace
}  // namespace verbline::pmd
