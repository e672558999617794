// SPDX-License-Identifier: BSD-3-Clause
// Whatever is given as an eBPF object is read within its bounds, or refused in one line.
#include <vector>

#include "datapath/program/object.h"
#include "tests/fuzz/datapath/packets.h"

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
    using namespace verbline;
    std::vector<char> bytes(data, data + size);
    const auto object = program::parse_object(bytes, "");
    if (!object) {
        fuzz::expect(!object.error().empty() && !object.error().contains('\n'));
        return 0;
    }
    fuzz::expect(!object->instructions.empty() && object->instructions.size() <= program::max_instructions);
    for (const auto& reference : object->references) fuzz::expect(reference.instruction < object->instructions.size());
    return 0;
}
