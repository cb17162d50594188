#include "jit/build_id.h"

#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstring>
#include <optional>
#include <string_view>
#include <vector>

namespace tailor::jit {
namespace {

/// The build id among the notes of one segment.
std::optional<std::string> find_note(std::string_view notes) {
  while (notes.size() >= sizeof(Elf64_Nhdr)) {
    Elf64_Nhdr header;
    std::memcpy(&header, notes.data(), sizeof header);
    const size_t name = (header.n_namesz + size_t{3}) & ~size_t{3}, text = (header.n_descsz + size_t{3}) & ~size_t{3};
    notes.remove_prefix(sizeof header);
    if (notes.size() < name || notes.size() - name < text) return std::nullopt;
    if (header.n_type == NT_GNU_BUILD_ID && notes.substr(0, header.n_namesz) == std::string_view("GNU\0", 4))
      return std::string(notes.substr(name, header.n_descsz));
    notes.remove_prefix(name + text);
  }
  return std::nullopt;
}

struct Own {
  uintptr_t address = 0;
  std::string file;
  std::optional<std::string> id;
};

int look(dl_phdr_info* info, size_t, void* data) {
  Own& own = *static_cast<Own*>(data);
  bool here = false;
  for (int i = 0; i < info->dlpi_phnum; ++i) {
    const Elf64_Phdr& p = info->dlpi_phdr[i];
    here = here || (p.p_type == PT_LOAD && own.address - info->dlpi_addr - p.p_vaddr < p.p_memsz);
  }
  if (!here) return 0;
  own.file = info->dlpi_name;
  for (int i = 0; i < info->dlpi_phnum && !own.id; ++i) {
    const Elf64_Phdr& p = info->dlpi_phdr[i];
    if (p.p_type == PT_NOTE) own.id = find_note({reinterpret_cast<const char*>(info->dlpi_addr + p.p_vaddr), p.p_memsz});
  }
  return 1;
}

// dladdr would do, too, but it looks through all symbols of the library.
const Own& own() {
  static const Own* const found = [] {
    auto* self = new Own;
    self->address = reinterpret_cast<uintptr_t>(&own_path);
    dl_iterate_phdr(look, self);
    return self;
  }();
  return *found;
}

std::string path_and_time(const std::string& path) {
  struct stat s {};
  if (stat(path.c_str(), &s) != 0) return "";
  return path + " " + std::to_string(s.st_size) + " " + std::to_string(s.st_mtim.tv_sec) + "." + std::to_string(s.st_mtim.tv_nsec);
}

template <class T>
bool read_at(int fd, uint64_t offset, T* to, size_t count) {
  return pread(fd, to, count * sizeof(T), static_cast<off_t>(offset)) == static_cast<ssize_t>(count * sizeof(T));
}

}  // namespace

const std::string& own_path() { return own().file; }
std::string own_build_id() { return own().id ? *own().id : path_and_time(own().file.empty() ? "/proc/self/exe" : own().file); }

std::string build_id_of_file(const std::string& path) {
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return "";
  std::optional<std::string> id;
  Elf64_Ehdr header;
  if (read_at(fd, 0, &header, 1) && std::memcmp(header.e_ident, ELFMAG, SELFMAG) == 0 && header.e_phnum < 64) {
    std::vector<Elf64_Phdr> segments(header.e_phnum);
    if (read_at(fd, header.e_phoff, segments.data(), segments.size())) {
      for (const Elf64_Phdr& p : segments) {
        if (p.p_type != PT_NOTE || p.p_filesz > 4096 || id) continue;
        std::string notes(p.p_filesz, '\0');
        if (read_at(fd, p.p_offset, notes.data(), notes.size())) id = find_note(notes);
      }
    }
  }
  close(fd);
  return id ? *id : path_and_time(path);
}

}  // namespace tailor::jit
