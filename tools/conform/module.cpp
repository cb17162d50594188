// Cases of nn modules.

#include "conform/runner.h"

namespace tailor::conform {

std::string run_module(const Json& json, const CaseFile&, Backend) { throw Unsupported("module " + json.at("module").get<std::string>()); }

}  // namespace tailor::conform
