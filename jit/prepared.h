#pragma once
// What an executable computes once from weights that stay the same from call to call: their laid out copies.
//
// Copies are shared: whoever asks for the same layout of the same values gets the one that is there, as long as somebody keeps it.

#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace tailor::kernels {
class Prepacked;
}

namespace tailor::jit {

/// Names the values of an input: equal identities, equal values. Not `known`: they may change unseen.
struct ValueIdentity {
  uint64_t tensor = 0, version = 0;
  bool known() const { return tensor != 0; }
  friend bool operator==(const ValueIdentity&, const ValueIdentity&) = default;
};

struct Prepared {
  std::vector<std::shared_ptr<const kernels::Prepacked>> computed;  // results of launches that depend on weights alone; null: not there
  std::vector<std::shared_ptr<const kernels::Prepacked>> packs;     // null where the weights are used as they are
  int64_t bytes() const;
};

/// The copy that `key` names: one that somebody holds, else what `make` returns (may be null). Thread-safe.
std::shared_ptr<const kernels::Prepacked> shared_pack(const std::string& key,
                                                      const std::function<std::shared_ptr<const kernels::Prepacked>()>& make);

/// Copies that are held by somebody, and their bytes.
struct SharedPacks {
  int count = 0;
  int64_t bytes = 0;
};
SharedPacks shared_packs();

}  // namespace tailor::jit
