// SPDX-License-Identifier: BSD-3-Clause
// Any file is either measurements, of which a page can be made, or one line of error; its text opens no element of the
// page.

#include "apps/verbline/report/page.h"
#include "apps/verbline/report/read_file.h"
#include "tests/fuzz/expect.h"

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
    using namespace verbline;
    const auto read = report::read_text("f", {reinterpret_cast<const char*>(data), size});
    if (!read) {
        const auto& line = read.error().what;
        fuzz::expect(line.starts_with("f") && line.find("; ") != line.npos);
        return 0;
    }
    fuzz::expect(!read->empty());
    const auto json = report::embedded_json(report::to_json(report::make_page(*read, "page", "verbline")));
    fuzz::expect(json.find('<') == json.npos);
    return 0;
}
