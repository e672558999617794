// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// Programs of programs.c and of config/programs, as clang has compiled them.

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include "datapath/program/object.h"
#include "datapath/program/program.h"

namespace verbline::program::bpf_objects {

inline std::string object_file(std::string_view name) {
    return std::string(VERBLINE_BPF_OBJECTS) + "/" + std::string(name) + ".o";
}

inline Object object(std::string_view section, std::string_view file = "programs") {
    const auto read = read_object(object_file(file), section);
    EXPECT_TRUE(read) << read.error().what;
    return read ? *read : Object{};
}

inline const std::vector<std::string> port_names{"left", "right"};

}  // namespace verbline::program::bpf_objects
