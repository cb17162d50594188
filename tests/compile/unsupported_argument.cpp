// Does not compile: the error has to say what to do about a type that cannot be guarded (tests/CMakeLists.txt looks at the text).
#include <tailor/tailor.h>

class Opaque {
 public:
  explicit Opaque(int value) : value_(value) {}
  int value() const { return value_; }

 private:
  int value_;
};

int main() {
  auto f = tailor::compile([](tailor::Tensor x, const Opaque& o) { return x + o.value(); });
  f(tailor::ones({1}), Opaque(1));
}
