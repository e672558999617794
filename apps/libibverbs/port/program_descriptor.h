// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// A descriptor that the library hands to the program to sleep on: two numbers for one file, of which the program gets
/// one and the library keeps the other.
///
/// The program may close its number or put another file there, and the library must then neither write to it nor close
/// it. So the library uses its own number only, and on destruction closes the program's number only if it still refers
/// to the same file.

#include <utility>

#include "pmd/base/file_descriptor.h"

namespace verbline::verbs {

class ProgramDescriptor {
public:
    ProgramDescriptor() = default;
    /// `ours` is a new file, or invalid with errno set. If no second number is available, errno is set and the object
    /// holds neither. `close_on_exec` applies to the program's number.
    explicit ProgramDescriptor(FileDescriptor ours, bool close_on_exec = true);
    ProgramDescriptor(ProgramDescriptor&& other) noexcept
        : ours_(std::move(other.ours_)),
          programs_(std::exchange(other.programs_, -1)),
          program_closes_(other.program_closes_) {}
    ProgramDescriptor& operator=(ProgramDescriptor&& other) noexcept {
        std::swap(ours_, other.ours_);
        std::swap(programs_, other.programs_);
        std::swap(program_closes_, other.program_closes_);
        return *this;
    }
    ~ProgramDescriptor();

    explicit operator bool() const { return programs_ >= 0; }
    int ours() const { return ours_.get(); }
    int programs() const { return programs_; }
    /// True if the program's number still refers to our file. Two system calls at most.
    bool intact() const;
    /// Leaves closing the program's number to the program.
    void disown() { program_closes_ = true; }

private:
    FileDescriptor ours_;
    int programs_ = -1;
    bool program_closes_ = false;
};

}  // namespace verbline::verbs
