// SPDX-License-Identifier: BSD-3-Clause
#include "apps/libibverbs/launch/program_file.h"

#include <array>
#include <cstring>

#include <elf.h>
#include <sys/stat.h>
#include <unistd.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/apps/verbline/scratch.h"

namespace verbline::verbs {
namespace {

using testing::HasSubstr;

/// The smallest file that has what is looked at: a header, and one segment.
template <class Header, class Segment>
std::string elf(std::uint16_t machine, bool dynamic) {
    Header header{};
    std::memcpy(header.e_ident, ELFMAG, SELFMAG);
    header.e_ident[EI_CLASS] = sizeof(Header) == sizeof(Elf64_Ehdr) ? ELFCLASS64 : ELFCLASS32;
    header.e_machine = machine;
    header.e_phoff = sizeof header;
    header.e_phentsize = sizeof(Segment);
    header.e_phnum = 1;
    Segment segment{};
    segment.p_type = dynamic ? PT_INTERP : PT_LOAD;
    std::string bytes(reinterpret_cast<const char*>(&header), sizeof header);
    return bytes.append(reinterpret_cast<const char*>(&segment), sizeof segment);
}
std::string elf64(std::uint16_t machine, bool dynamic = true) {
    return elf<Elf64_Ehdr, Elf64_Phdr>(machine, dynamic);
}

class ProgramFile : public testing::Test {
protected:
    std::string program(const std::string& name, std::string_view text, mode_t mode = 0755) const {
        const auto file = scratch_.write(name, text);
        chmod(file.c_str(), mode);
        return file;
    }
    std::string refusal(const std::string& file) const {
        const auto good = check_preload(file, library_);
        return good ? "accepted" : good.error().what;
    }

    cli::Scratch scratch_;
    std::string library_ = program("libibverbs.so.1", elf64(EM_X86_64, false));
};

TEST_F(ProgramFile, IsFoundAlongThePath) {
    std::filesystem::create_directory(scratch_.path() / "a");
    std::filesystem::create_directory(scratch_.path() / "b");
    program("a/ping", "", 0644);  // not executable: looked past
    program("b/ping", "");
    const auto path = (scratch_.path() / "a").string() + ":" + (scratch_.path() / "b").string();
    EXPECT_EQ(find_program("ping", path).value(), scratch_.path() / "b/ping");
    EXPECT_THAT(find_program("pong", path).error().what, HasSubstr("there is no program pong in PATH"));
    EXPECT_FALSE(find_program("", path));
    EXPECT_FALSE(find_program("a", scratch_.path().string())) << "a directory is no program";
}

TEST_F(ProgramFile, WithASlashIsThatFile) {
    const auto file = program("ping", "");
    EXPECT_EQ(find_program(file, "").value(), file);
    EXPECT_THAT(find_program(file + "x", "").error().what, HasSubstr("there is no program"));
    program("ping", "", 0644);
    EXPECT_THAT(find_program(file, "").error().what, HasSubstr("may execute"));
}

TEST_F(ProgramFile, AcceptsMatchingArchitecture) {
    EXPECT_EQ(refusal(program("ping", elf64(EM_X86_64))), "accepted");
    EXPECT_TRUE(check_preload("/proc/self/exe", "/proc/self/exe"));
}

TEST_F(ProgramFile, RejectsOtherArchitectures) {
    EXPECT_THAT(refusal(program("ping", elf64(EM_AARCH64))),
                HasSubstr("is a 64-bit Arm program and libibverbs.so.1 is for 64-bit x86-64"));
    EXPECT_THAT(refusal(program("ping", elf<Elf32_Ehdr, Elf32_Phdr>(EM_386, true))),
                HasSubstr("is a 32-bit x86 program"));
    EXPECT_THAT(refusal(program("ping", elf<Elf32_Ehdr, Elf32_Phdr>(EM_X86_64, true))), HasSubstr("32-bit x32"));
    EXPECT_THAT(refusal(program("ping", elf64(0x1234))), HasSubstr("64-bit ELF machine 4660"));
}

TEST_F(ProgramFile, LinkedStaticallyDoesNot) {
    EXPECT_THAT(refusal(program("ping", elf64(EM_X86_64, false))), HasSubstr("linked statically"));
}

TEST_F(ProgramFile, RejectsSetuidAndSetgid) {
    const auto file = program("ping", elf64(EM_X86_64), 04755);
    EXPECT_EQ(refusal(file), "accepted") << "rights that we have already are no gain";
    if (geteuid() != 0) GTEST_SKIP() << "needs root, to make a setuid program of somebody else's";
    ASSERT_EQ(chown(file.c_str(), 65534, 65534), 0);
    ASSERT_EQ(chmod(file.c_str(), 04755), 0);
    EXPECT_THAT(refusal(file), HasSubstr("setuid"));
    ASSERT_EQ(chmod(file.c_str(), 02755), 0);
    EXPECT_THAT(refusal(file), HasSubstr("setgid"));
}

TEST_F(ProgramFile, AScriptIsJudgedByItsInterpreter) {
    const auto arm = program("arm-sh", elf64(EM_AARCH64)), own = program("sh", elf64(EM_X86_64));
    EXPECT_EQ(refusal(program("script", "#!" + own + " -e\n")), "accepted");
    EXPECT_EQ(refusal(program("script", "#!\t " + own)), "accepted");
    EXPECT_EQ(refusal(program("script", "echo no interpreter: sh runs it\n")), "accepted");
    EXPECT_EQ(refusal(program("script", "#!\n")), "accepted");
    EXPECT_THAT(refusal(program("script", "#!" + arm + "\n")), HasSubstr("arm-sh is a 64-bit Arm program"));
    EXPECT_THAT(refusal(program("script", "#!/no/such/sh\n")), HasSubstr("cannot read /no/such/sh"));
}

TEST_F(ProgramFile, CutShortIsNoElfFile) {
    const auto whole = elf64(EM_X86_64);
    for (std::size_t length = 0; length < sizeof(Elf64_Ehdr); ++length)
        EXPECT_FALSE(elf_kind(program("cut", whole.substr(0, length)))) << length;
    const auto headless = elf_kind(program("cut", whole.substr(0, sizeof(Elf64_Ehdr))));
    ASSERT_TRUE(headless);
    EXPECT_FALSE(headless->dynamic) << "its segments are not there";
}

TEST_F(ProgramFile, ALibraryThatIsNoneIsAnError) {
    EXPECT_FALSE(check_preload("/proc/self/exe", scratch_.write("text", "text")));
    EXPECT_FALSE(check_preload("/proc/self/exe", scratch_.path() / "none"));
}

}  // namespace
}  // namespace verbline::verbs
