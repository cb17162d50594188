#pragma once
// A value outside of the arguments that a function declared `.pure` may read: the read is a fact, and a write is seen by the next call.
//
//   tailor::Watched<double> scale{0.5, "scale"};
//   auto f = tailor::compile([&](const Tensor& x) { return x * scale.get(); }, {.pure = true});
//   f(x);  f(x);     // the body is skipped
//   scale = 0.25;
//   f(x);            // follows the body again, which reads the new value

#include <string>
#include <utility>

#include "runtime/cell.h"

namespace tailor {

namespace detail {
/// The version of a watched value; compiled functions keep it longer than the value lives.
class WatchedVersion {
 public:
  explicit WatchedVersion(std::string name);
  WatchedVersion(const WatchedVersion&) = delete;
  WatchedVersion& operator=(const WatchedVersion&) = delete;
  ~WatchedVersion();
  /// Tells the compiled call of this thread, if there is one. Call before the value is read.
  void note_read() const;
  /// Call after the value is written.
  void note_write() noexcept;
  const std::string& name() const { return name_; }

 private:
  IntrusivePtr<Cell> cell_;
  std::string name_;
};
}  // namespace detail

/// Reading and writing are as safe between threads as for a plain T. Copies are watched by themselves.
template <class T>
class Watched {
 public:
  /// `name` stands for it in guards and messages.
  explicit Watched(T value = {}, std::string name = {}) : value_(std::move(value)), version_(std::move(name)) {}
  Watched(const Watched& other) : Watched(other.get(), other.version_.name()) {}
  Watched& operator=(const Watched& other) { return *this = other.get(); }
  Watched& operator=(T value) {
    value_ = std::move(value);
    version_.note_write();
    return *this;
  }
  const T& get() const {
    version_.note_read();
    return value_;
  }
  operator const T&() const { return get(); }
  /// Changes the value in place: `w.update([](auto& list) { list.push_back(3); })`. Counts as written when `change` throws, too.
  template <class F>
  void update(F&& change) {
    struct Written {
      detail::WatchedVersion& version;
      ~Written() { version.note_write(); }
    } written{version_};
    std::forward<F>(change)(value_);
  }

 private:
  T value_;
  detail::WatchedVersion version_;
};

}  // namespace tailor
