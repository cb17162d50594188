#pragma once
// Temporary memory of one run, kept by the thread for the next.

#include <cstddef>

#include "runtime/storage.h"

namespace tailor::jit {

class ArenaLease {
 public:
  explicit ArenaLease(size_t bytes);
  ~ArenaLease();
  ArenaLease(const ArenaLease&) = delete;
  ArenaLease& operator=(const ArenaLease&) = delete;
  std::byte* data() const { return data_; }

 private:
  std::byte* data_ = nullptr;
  bool cached_ = false;
  IntrusivePtr<Storage> own_;
};

}  // namespace tailor::jit
