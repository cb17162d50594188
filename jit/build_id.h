#pragma once
#include <string>

namespace tailor::jit {

/// The file of the library (or program) that holds this code, as it was loaded; "" for the program itself.
const std::string& own_path();
/// The build id that the linker gave the library which holds this code, as bytes. Where there is none: the file's path, size and time.
std::string own_build_id();
/// The same of an ELF file, without loading it; "" when it cannot be read.
std::string build_id_of_file(const std::string& path);

}  // namespace tailor::jit
