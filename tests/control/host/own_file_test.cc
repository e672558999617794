// SPDX-License-Identifier: BSD-3-Clause
#include "control/host/own_file.h"

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <set>
#include <string>
#include <vector>

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <gtest/gtest.h>

#include "tests/support/namespace.h"

namespace verbline::host {
namespace {

constexpr uid_t stranger = 12345;

/// A directory like /dev/shm: everybody may create files, and remove only his own.
struct OwnFile : ::testing::Test {
    OwnFile() {
        std::string name = testing::TempDir() + "own-file-XXXXXX";
        directory = mkdtemp(name.data());
        chmod(directory.c_str(), 01777);
    }
    ~OwnFile() override { std::filesystem::remove_all(directory); }

    Result<FileDescriptor> open() const { return open_own_file(directory, "ports-"); }
    ino_t inode() const {
        const auto file = open();
        struct stat found{};
        return file && fstat(file->get(), &found) == 0 ? found.st_ino : 0;
    }
    std::filesystem::path usual() const { return directory / ("ports-" + std::to_string(geteuid())); }
    std::set<std::string> names() const {
        std::set<std::string> result;
        for (const auto& each : std::filesystem::directory_iterator(directory)) result.insert(each.path().filename());
        return result;
    }
    /// Another user's, in the place of ours.
    void squat(mode_t mode) const {
        std::ofstream{usual()};
        ASSERT_EQ(chmod(usual().c_str(), mode), 0);
        ASSERT_EQ(chown(usual().c_str(), stranger, stranger), 0);
    }

    std::filesystem::path directory;
};

TEST_F(OwnFile, IsMadeOnceAndIsItsOwnersAlone) {
    const auto before = umask(0);
    const auto first = inode();
    umask(0777);
    EXPECT_NE(first, 0u);
    EXPECT_EQ(inode(), first);
    umask(before);
    struct stat file{};
    ASSERT_EQ(lstat(usual().c_str(), &file), 0);
    EXPECT_EQ(file.st_mode & 07777, 0600u);
    EXPECT_EQ(names().size(), 1u);
}

TEST_F(OwnFile, IsMadeUnderAnyUmask) {
    const auto before = umask(0777);
    const auto first = inode();
    umask(before);
    EXPECT_NE(first, 0u);
    EXPECT_EQ(inode(), first);
}

TEST_F(OwnFile, AnotherUserInItsPlaceKeepsNobodyOut) {
    SKIP_UNLESS_ROOT();
    for (const mode_t mode : {0600, 0666}) {
        squat(mode);
        const auto own = inode();
        EXPECT_NE(own, 0u);
        EXPECT_EQ(inode(), own) << "all programs agree";
        struct stat there{};
        ASSERT_EQ(lstat(usual().c_str(), &there), 0);
        EXPECT_NE(there.st_ino, own);
        std::filesystem::remove(usual());
        EXPECT_EQ(inode(), own) << "also when the other one has gone";
    }
}

TEST_F(OwnFile, ALinkInItsPlaceIsNotFollowed) {
    const auto victim = directory / "victim";
    std::ofstream{victim};
    std::filesystem::create_symlink(victim, usual());
    struct stat file{};
    ASSERT_EQ(stat(victim.c_str(), &file), 0);
    EXPECT_NE(inode(), 0u);
    EXPECT_NE(inode(), file.st_ino);
}

TEST_F(OwnFile, CannotBeOpenedByAnother) {
    SKIP_UNLESS_ROOT();
    ASSERT_NE(inode(), 0u);
    const auto name = usual();
    const auto child = fork();
    if (child == 0) {
        const bool another = setgid(stranger) == 0 && setuid(stranger) == 0;
        const bool denied = ::open(name.c_str(), O_RDONLY) < 0 && errno == EACCES;
        _exit(another && denied ? 0 : 1);
    }
    int status = -1;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
}

TEST_F(OwnFile, ProgramsThatStartTogetherAgree) {
    SKIP_UNLESS_ROOT();
    constexpr int programs = 16;
    for (const bool squatted : {false, true}) {
        if (squatted) squat(0600);
        int answers[2];
        ASSERT_EQ(pipe(answers), 0);
        for (int i = 0; i < programs; ++i) {
            if (fork() != 0) continue;
            const ino_t found = inode();
            _exit(write(answers[1], &found, sizeof found) == sizeof found ? 0 : 1);
        }
        std::set<ino_t> found;
        for (int i = 0; i < programs; ++i) {
            ino_t one = 0;
            ASSERT_EQ(read(answers[0], &one, sizeof one), static_cast<ssize_t>(sizeof one));
            found.insert(one);
        }
        while (wait(nullptr) > 0) {}
        close(answers[0]);
        close(answers[1]);
        EXPECT_EQ(found.size(), 1u);
        EXPECT_FALSE(found.contains(0));
        EXPECT_EQ(names().size(), squatted ? 2u : 1u);
        for (const auto& name : names()) std::filesystem::remove(directory / name);
    }
}

TEST_F(OwnFile, StaleIncompleteFileIsReplaced) {
    std::ofstream{usual()};
    ASSERT_EQ(chmod(usual().c_str(), 0), 0);
    const timespec times[2] = {{.tv_sec = 1, .tv_nsec = 0}, {.tv_sec = 1, .tv_nsec = 0}};
    ASSERT_EQ(utimensat(AT_FDCWD, usual().c_str(), times, 0), 0);
    EXPECT_NE(inode(), 0u);
    EXPECT_EQ(names().size(), 1u);
}

TEST_F(OwnFile, ADirectoryThatIsNotThereIsAnError) {
    const auto file = open_own_file(directory / "missing", "ports-");
    ASSERT_FALSE(file);
    EXPECT_EQ(file.error().code, ENOENT);
}

}  // namespace
}  // namespace verbline::host
