// SPDX-License-Identifier: BSD-3-Clause
#include "pmd/runtime/trusted_path.h"

#include <fstream>

#include "tests/support/stranger.h"

namespace verbline::pmd {
namespace {

namespace fs = std::filesystem;

constexpr auto advice = "use another";

struct TrustedPath : ::testing::Test {
    test::Place place;

    static int code(const fs::path& path, const Trust& trust = {}) {
        const auto good = check_path(path, advice, trust);
        return good ? 0 : good.error().code;
    }
    static void touch(const fs::path& path) { std::ofstream(path) << ""; }
};

TEST_F(TrustedPath, OwnFileInOwnDirectory) {
    touch(place.path() / "a");
    EXPECT_EQ(code(place.path() / "a"), 0);
    EXPECT_EQ(code(place.path() / "none"), ENOENT);
    EXPECT_EQ(code(place.path() / "a" / "b"), ENOTDIR);
}

TEST_F(TrustedPath, DirectoryOpenToOthersIsRefused) {
    for (const mode_t mode : {0770, 0720, 0777, 0702}) {
        const auto open = place.directory("open", mode);
        EXPECT_EQ(code(open / "."), EPERM) << std::oct << mode;
        EXPECT_EQ(code(open / "none"), EPERM) << "before anybody looks inside";
        fs::remove(open);
    }
    EXPECT_EQ(code(place.directory("read", 0755)), 0);
}

TEST_F(TrustedPath, ErrorNamesComponentAndAdvice) {
    const auto open = place.directory("open", 0777);
    const auto good = check_path(open / "x", advice);
    ASSERT_FALSE(good);
    EXPECT_TRUE(good.error().what.starts_with(open.string() + " may be written to by anyone")) << good.error().what;
    EXPECT_TRUE(good.error().what.ends_with("; use another")) << good.error().what;
}

TEST_F(TrustedPath, StickyDirectoryNeedsOwnEntries) {
    const auto sticky = place.directory("sticky", 01777);
    touch(sticky / "ours");
    EXPECT_EQ(code(sticky), 0);
    EXPECT_EQ(code(sticky / "ours"), 0);
    SKIP_WITHOUT_OTHER_USERS();
    touch(sticky / "theirs");
    test::give_to(sticky / "theirs", test::stranger);
    EXPECT_EQ(code(sticky / "theirs"), EPERM);
    EXPECT_EQ(code(sticky / "theirs", {.user = test::stranger}), 0);
}

TEST_F(TrustedPath, StrangersDirectoryIsRefusedAnywhere) {
    SKIP_WITHOUT_OTHER_USERS();
    const auto theirs = place.directory("theirs", 0755, test::stranger);
    place.directory("theirs/ours");
    EXPECT_EQ(code(theirs / "ours"), EPERM) << "they can rename it";
    EXPECT_EQ(code(theirs / "ours", {.user = test::stranger}), 0);
    EXPECT_EQ(code(theirs / "ours", {.user = test::stranger + 1}), EPERM);
}

TEST_F(TrustedPath, SymbolicLinksAreWalked) {
    const auto open = place.directory("open", 0777), good = place.directory("good");
    touch(good / "a");
    fs::create_symlink("good/a", place.path() / "relative");
    fs::create_symlink(good / "a", place.path() / "absolute");
    fs::create_symlink("good/../good/./a", place.path() / "winding");
    fs::create_symlink("../good", open / "through_open");
    fs::create_symlink("open/through_open/a", place.path() / "crooked");
    fs::create_symlink("loop", place.path() / "loop");
    fs::create_symlink("nowhere", place.path() / "dangling");
    for (const auto* name : {"relative", "absolute", "winding"}) EXPECT_EQ(code(place.path() / name), 0) << name;
    EXPECT_EQ(code(place.path() / "crooked"), EPERM) << "anyone may point the link elsewhere";
    EXPECT_EQ(code(place.path() / "loop"), ELOOP);
    EXPECT_EQ(code(place.path() / "dangling"), ENOENT);
}

TEST_F(TrustedPath, StrangersLinkInStickyDirectoryIsRefused) {
    SKIP_WITHOUT_OTHER_USERS();
    const auto sticky = place.directory("sticky", 01777), good = place.directory("good");
    fs::create_symlink(good, sticky / "link");
    EXPECT_EQ(code(sticky / "link"), 0);
    test::give_to(sticky / "link", test::stranger);
    EXPECT_EQ(code(sticky / "link"), EPERM);
}

TEST_F(TrustedPath, RelativePathIsOfWorkingDirectory) {
    touch(place.path() / "a");
    const auto before = fs::current_path();
    fs::current_path(place.path());
    EXPECT_EQ(code("a"), 0);
    EXPECT_EQ(code("./a"), 0);
    place.directory("open", 0777);
    EXPECT_EQ(code("open/../a"), EPERM);
    fs::current_path(before);
}

TEST_F(TrustedPath, ServerOfOwnUserIsTrusted) {
    const test::Served served(place.path() / "s", geteuid());
    const auto client = served.connect();
    EXPECT_TRUE(check_server(client.get(), "s", advice));
}

TEST_F(TrustedPath, ServerOfStrangerIsRefusedUnlessNamed) {
    SKIP_WITHOUT_OTHER_USERS();
    const test::Served served(place.path() / "s", test::stranger);
    const auto client = served.connect();
    const auto refused = check_server(client.get(), "s", advice);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, EPERM);
    EXPECT_TRUE(refused.error().what.starts_with("s is served by user 12345 (process ")) << refused.error().what;
    EXPECT_TRUE(check_server(client.get(), "s", advice, {.user = test::stranger}));
}

}  // namespace
}  // namespace verbline::pmd
