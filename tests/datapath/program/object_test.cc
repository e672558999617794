// SPDX-License-Identifier: BSD-3-Clause
#include "datapath/program/object.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>

#include <sys/stat.h>
#include <unistd.h>

#include "tests/datapath/program/bpf_objects.h"

namespace verbline::program {
namespace {

using bpf_objects::object_file;

std::string refusal(const std::string& file, std::string_view section = "") {
    const auto object = read_object(file, section);
    EXPECT_FALSE(object) << file << ", " << section;
    return object ? "" : object.error().what;
}

std::vector<char> contents(const std::string& file) {
    std::ifstream in(file, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
}

class ObjectFile : public ::testing::Test {
protected:
    ~ObjectFile() override { std::filesystem::remove(path_); }

    std::string path_ = std::filesystem::temp_directory_path() / ("verbline-object-" + std::to_string(getpid()));
};

TEST_F(ObjectFile, OnlyProgramNeedsNoSection) {
    const auto object = read_object(object_file("drop_prefixes"), "");
    ASSERT_TRUE(object) << object.error().what;
    EXPECT_EQ(object->section, "drop_prefixes");
    EXPECT_GT(object->instructions.size(), 5u);
    std::vector<std::string> names;
    for (const auto& reference : object->references) names.push_back(reference.symbol);
    std::ranges::sort(names);
    EXPECT_EQ(names, (std::vector<std::string>{"verbline_counters", "verbline_prefix_ipv4", "verbline_prefix_ipv6"}));
}

TEST_F(ObjectFile, SeveralProgramsWantASection) {
    const auto file = object_file("programs");
    EXPECT_EQ(bpf_objects::object("drop").section, "drop");
    EXPECT_TRUE(refusal(file).starts_with(file + ": it has several programs: choose a section of pass, drop, "));
    EXPECT_TRUE(refusal(file, "dorp").starts_with(file + ": it has no program dorp, but pass, drop, "));
}

TEST_F(ObjectFile, NamesWhatAProgramMayNotHave) {
    const auto file = object_file("programs");
    EXPECT_EQ(refusal(file, "own_function"),
              file +
                  ": it calls a function of its own (own_helper): declare it static inline, "
                  "__attribute__((always_inline))");
    EXPECT_TRUE(refusal(file, "own_data").starts_with(file + ": it has global data of its own"));
    EXPECT_EQ(refusal(file, "kernel_function"),
              file + ": it calls the kernel's function 5, which is not here: verbline_program.h has those that are");
}

TEST_F(ObjectFile, OtherFilesAreNone) {
    EXPECT_EQ(refusal("/nonexistent/drop.o"), "/nonexistent/drop.o: No such file or directory");
    EXPECT_EQ(refusal("/tmp"), "/tmp: no regular file");
    ASSERT_EQ(mkfifo(path_.c_str(), 0600), 0);
    EXPECT_EQ(refusal(path_), path_ + ": no regular file") << "and it did not wait for a writer";
    std::filesystem::remove(path_);
    std::ofstream(path_) << "int main() {}";
    EXPECT_EQ(refusal(path_), path_ + ": no ELF file");
    std::filesystem::resize_file(path_, max_object_bytes + 1);
    EXPECT_EQ(refusal(path_), path_ + ": larger than the 1048576 bytes of any program");
    auto other = contents(object_file("drop_prefixes"));
    other[18] = 62;  // e_machine: x86-64
    EXPECT_EQ(parse_object(other, "").error(), "no eBPF object: compile it by clang -O2 -target bpf -mcpu=v2 -c");
}

/// Whatever byte is wrong: an error of one line, or a program whose references are its own.
TEST_F(ObjectFile, AnyByteMayBeWrong) {
    const auto good = contents(object_file("police"));
    ASSERT_FALSE(good.empty());
    unsigned refused = 0;
    for (std::size_t at = 0; at < good.size(); ++at) {
        for (const unsigned change : {0x01u, 0x80u, 0xffu}) {
            auto bytes = good;
            bytes[at] = static_cast<char>(static_cast<unsigned char>(bytes[at]) ^ change);
            const auto object = parse_object(bytes, "");
            if (!object) {
                ++refused;
                EXPECT_FALSE(object.error().empty() || object.error().contains('\n')) << at;
                continue;
            }
            for (const auto& reference : object->references)
                EXPECT_LT(reference.instruction, object->instructions.size()) << at;
        }
    }
    EXPECT_GT(refused, 100u);
    for (std::size_t size = 0; size < good.size(); size += 7) {
        auto bytes = good;
        bytes.resize(size);
        EXPECT_FALSE(parse_object(bytes, "")) << "its table of sections is at the end, cut at " << size;
    }
}

}  // namespace
}  // namespace verbline::program
