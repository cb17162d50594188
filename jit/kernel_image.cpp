#include "jit/kernel_image.h"

#include <elf.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <map>

#include "jit/runtime_symbols.h"
#include "runtime/error.h"

namespace tailor::jit {
namespace {

/// Code and constants of the widest vectors are aligned to this, images as well.
constexpr uint64_t kAlignment = 64;

uint64_t aligned(uint64_t n, uint64_t to) { return (n + to - 1) / to * to; }

/// An ELF object in memory; every read is checked against its end.
class Object {
 public:
  explicit Object(std::string_view bytes) : bytes_(bytes) {
    const auto header = read<Elf64_Ehdr>(0);
    internal_check(std::memcmp(header.e_ident, ELFMAG, SELFMAG) == 0 && header.e_ident[EI_CLASS] == ELFCLASS64 &&
                       header.e_machine == EM_X86_64 && header.e_type == ET_REL,
                   "no object of x86-64");
    for (size_t i = 0; i < header.e_shnum; ++i) sections_.push_back(read<Elf64_Shdr>(header.e_shoff + i * sizeof(Elf64_Shdr)));
    for (const Elf64_Shdr& s : sections_) {
      if (s.sh_type != SHT_SYMTAB) continue;
      for (uint64_t at = 0; at + sizeof(Elf64_Sym) <= s.sh_size; at += sizeof(Elf64_Sym))
        symbols_.push_back(read<Elf64_Sym>(s.sh_offset + at));
      names_ = content(section(s.sh_link));
    }
  }

  const Elf64_Shdr& section(size_t index) const {
    internal_check(index < sections_.size(), "object: no section ", index);
    return sections_[index];
  }
  std::string_view content(const Elf64_Shdr& s) const {
    internal_check(s.sh_offset <= bytes_.size() && s.sh_size <= bytes_.size() - s.sh_offset, "object: a section lies outside");
    return bytes_.substr(s.sh_offset, s.sh_size);
  }
  const Elf64_Sym& symbol(size_t index) const {
    internal_check(index < symbols_.size(), "object: no symbol ", index);
    return symbols_[index];
  }
  std::string_view name(const Elf64_Sym& s) const {
    internal_check(s.st_name < names_.size(), "object: a name lies outside");
    const std::string_view rest = names_.substr(s.st_name);
    return rest.substr(0, rest.find('\0'));
  }
  const Elf64_Sym& find(std::string_view wanted) const {
    const auto found = std::find_if(symbols_.begin(), symbols_.end(), [&](const Elf64_Sym& s) { return name(s) == wanted; });
    internal_check(found != symbols_.end(), "object: no symbol ", wanted);
    return *found;
  }
  std::vector<Elf64_Rela> relocations_of(size_t target) const {
    std::vector<Elf64_Rela> all;
    for (const Elf64_Shdr& s : sections_) {
      internal_check(s.sh_type != SHT_REL, "object: relocations without addends");
      if (s.sh_type != SHT_RELA || s.sh_info != target) continue;
      for (uint64_t at = 0; at + sizeof(Elf64_Rela) <= s.sh_size; at += sizeof(Elf64_Rela))
        all.push_back(read<Elf64_Rela>(s.sh_offset + at));
    }
    return all;
  }

 private:
  template <class T>
  T read(uint64_t at) const {
    internal_check(at <= bytes_.size() && sizeof(T) <= bytes_.size() - at, "object: cut short");
    T value;
    std::memcpy(&value, bytes_.data() + at, sizeof(T));
    return value;
  }

  std::string_view bytes_, names_;
  std::vector<Elf64_Shdr> sections_;
  std::vector<Elf64_Sym> symbols_;
};

/// Lays out the sections that a function reaches, and resolves what they say of each other.
class Cutter {
 public:
  Cutter(std::string_view object, std::string_view symbol) : object_(object) {
    const Elf64_Sym& function = object_.find(symbol);
    image_.entry = place(function.st_shndx) + function.st_value;
    internal_check(function.st_value < object_.section(function.st_shndx).sh_size, "object: a kernel outside of its section");
    for (size_t i = 0; i < order_.size(); ++i) {  // grows while sections are reached
      for (const Elf64_Rela& r : object_.relocations_of(order_[i])) relocate(offsets_.at(order_[i]), object_.section(order_[i]).sh_size, r);
    }
  }
  KernelImage take() { return std::move(image_); }

 private:
  uint64_t place(size_t index) {
    if (const auto placed = offsets_.find(index); placed != offsets_.end()) return placed->second;
    const Elf64_Shdr& s = object_.section(index);
    internal_check(s.sh_type == SHT_PROGBITS && (s.sh_flags & SHF_ALLOC) != 0 && (s.sh_flags & (SHF_WRITE | SHF_TLS)) == 0 &&
                       s.sh_addralign <= kAlignment,
                   "object: a kernel refers to a section of another kind");
    const uint64_t offset = aligned(image_.bytes.size(), std::max<uint64_t>(s.sh_addralign, 1));
    image_.bytes.resize(offset);
    image_.bytes += object_.content(s);
    offsets_[index] = offset;
    order_.push_back(index);
    return offset;
  }

  /// The slot of a function of the library.
  uint64_t slot(std::string_view name) {
    const auto known = std::find_if(image_.imports.begin(), image_.imports.end(), [&](const auto& i) { return i.name == name; });
    if (known != image_.imports.end()) return known->slot;
    const uint64_t at = aligned(image_.bytes.size(), 8);
    image_.bytes.resize(at + 8);
    image_.imports.push_back({std::string(name), at});
    return at;
  }
  /// Code that jumps where the slot says.
  uint64_t stub(std::string_view name) {
    if (const auto known = stubs_.find(name); known != stubs_.end()) return known->second;
    const uint64_t target = slot(name), at = aligned(image_.bytes.size(), 8);
    image_.bytes.resize(at);
    image_.bytes += "\xff\x25";  // jmp *distance(%rip)
    const auto distance = static_cast<int32_t>(static_cast<int64_t>(target) - static_cast<int64_t>(at + 6));
    image_.bytes.append(reinterpret_cast<const char*>(&distance), sizeof distance);
    stubs_.emplace(name, at);
    return at;
  }

  void relocate(uint64_t section, uint64_t size, const Elf64_Rela& r) {
    const Elf64_Sym& symbol = object_.symbol(ELF64_R_SYM(r.r_info));
    const bool import = symbol.st_shndx == SHN_UNDEF;
    uint64_t target = 0;
    size_t width = 4;
    switch (const auto type = ELF64_R_TYPE(r.r_info)) {
      case R_X86_64_PC64: width = 8; [[fallthrough]];
      case R_X86_64_PC32:
        internal_check(!import, "object: a kernel reads ", object_.name(symbol));
        target = place(symbol.st_shndx) + symbol.st_value;
        break;
      case R_X86_64_PLT32: target = import ? stub(object_.name(symbol)) : place(symbol.st_shndx) + symbol.st_value; break;
      case R_X86_64_GOTPCREL:
      case R_X86_64_GOTPCRELX:
      case R_X86_64_REX_GOTPCRELX:
        internal_check(import, "object: the address of ", object_.name(symbol), " is taken");
        target = slot(object_.name(symbol));
        break;
      default: internal_check(false, "object: relocation of type ", type);
    }
    internal_check(r.r_offset <= size && width <= size - r.r_offset, "object: a relocation lies outside");
    const uint64_t at = section + r.r_offset;
    const int64_t distance = static_cast<int64_t>(target) + r.r_addend - static_cast<int64_t>(at);
    internal_check(width == 8 || std::abs(distance) <= std::numeric_limits<int32_t>::max(), "object: too far");
    std::memcpy(image_.bytes.data() + at, &distance, width);
  }

  const Object object_;
  KernelImage image_;
  std::map<size_t, uint64_t> offsets_;  // of sections in the image
  std::vector<size_t> order_;
  std::map<std::string, uint64_t, std::less<>> stubs_;
};

void* runtime_address(std::string_view name) {
  for (const RuntimeSymbol& symbol : runtime_symbols())
    if (name == symbol.name) return symbol.address;
  internal_check(false, "a kernel refers to ", name, ", which generated code may not use");
  return nullptr;
}

}  // namespace

KernelImage cut_image(std::string_view object, std::string_view symbol) { return Cutter(object, symbol).take(); }

LoadedImages::LoadedImages(std::span<const KernelImage> images) {
  std::vector<uint64_t> offsets;
  uint64_t total = 0;
  for (const KernelImage& image : images) {
    internal_check(image.entry < image.bytes.size(), "a kernel begins outside of its code");
    for (const auto& import : image.imports)
      internal_check(import.slot <= image.bytes.size() && 8 <= image.bytes.size() - import.slot, "an import lies outside of its code");
    offsets.push_back(total);
    total = aligned(total + image.bytes.size(), kAlignment);
  }
  if (total == 0) return;
  std::vector<std::pair<uint64_t, void*>> slots;
  for (size_t i = 0; i < images.size(); ++i)
    for (const auto& import : images[i].imports) slots.emplace_back(offsets[i] + import.slot, runtime_address(import.name));

  void* const memory = mmap(nullptr, total, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  internal_check(memory != MAP_FAILED, "no memory for code: ", std::strerror(errno));
  base_ = static_cast<std::byte*>(memory);
  bytes_ = total;
  for (size_t i = 0; i < images.size(); ++i) {
    std::memcpy(base_ + offsets[i], images[i].bytes.data(), images[i].bytes.size());
    entries_.push_back(base_ + offsets[i] + images[i].entry);
  }
  for (const auto& [offset, address] : slots) std::memcpy(base_ + offset, &address, sizeof address);
  if (mprotect(base_, bytes_, PROT_READ | PROT_EXEC) != 0) {
    const int why = errno;
    munmap(base_, bytes_);
    internal_check(false, "the system allows no executable memory: ", std::strerror(why));
  }
}

LoadedImages::~LoadedImages() {
  if (base_ != nullptr) munmap(base_, bytes_);
}

}  // namespace tailor::jit
