// SPDX-License-Identifier: BSD-3-Clause
#include "apps/libibverbs/launch/preload_path.h"

#include <unistd.h>

#include <gtest/gtest.h>

#include "pmd/runtime/runtime_directory.h"
#include "tests/apps/verbline/scratch.h"
#include "tests/support/stranger.h"

namespace verbline::verbs {
namespace {

namespace fs = std::filesystem;

struct PreloadPath : ::testing::Test {
    ~PreloadPath() override {
        std::error_code problem;
        for (const auto& link : links) fs::remove(link, problem);
    }
    /// A library in a directory of this name.
    fs::path library(const std::string& name) {
        fs::create_directory(scratch.path() / name);
        return scratch.write(name + "/lib.so", "");
    }
    Result<fs::path> named(const fs::path& library) {
        auto path = preload_path(library);
        if (path && *path != library) links.push_back(path->parent_path());
        return path;
    }

    const cli::Scratch scratch;
    const cli::Variable runtime{"XDG_RUNTIME_DIR", scratch.path()};
    std::vector<fs::path> links;
};

TEST_F(PreloadPath, OrdinaryPathStaysAsItIs) {
    const auto file = library("plain-name_1.2");
    EXPECT_EQ(preload_path(file).value(), file);
}

TEST_F(PreloadPath, WhatTheLoaderSplitsIsReachedThroughALink) {
    for (const auto* name : {"a b", "a:b", "a;b", "a$b", " "}) {
        const auto file = library(name);
        const auto path = named(file);
        ASSERT_TRUE(path) << path.error().what;
        EXPECT_EQ(path->native().find_first_of(" :;$"), std::string::npos) << *path;
        EXPECT_TRUE(fs::equivalent(*path, file)) << *path;
        EXPECT_EQ(path->parent_path().parent_path(), pmd::runtime_directory());
        EXPECT_EQ(named(file).value(), *path) << "the same link for the next program";
    }
}

TEST_F(PreloadPath, OldLinkToAnotherPlaceIsReplaced) {
    const auto file = library("a b");
    const auto path = named(file).value();
    fs::remove(path.parent_path());
    fs::create_symlink("/nowhere", path.parent_path());
    EXPECT_EQ(named(file).value(), path);
    EXPECT_TRUE(fs::equivalent(path, file));
}

TEST_F(PreloadPath, RejectsBlankInRuntimeDirectory) {
    const cli::Variable blank{"XDG_RUNTIME_DIR", scratch.path() / "c d"};
    const auto is_refused = [file = library("a b")] {
        const auto path = preload_path(file);
        return !path && path.error().code == EINVAL;
    };
    // Root's run-time directory is always the same.
    EXPECT_TRUE(geteuid() == 0 ? test::as_user(test::stranger, is_refused) : is_refused());
}

}  // namespace
}  // namespace verbline::verbs
