// Does not compile: the error has to say what to do about arguments without types (tests/CMakeLists.txt looks at the text).
#include <tailor/tailor.h>

int main() {
  auto f = tailor::compile([](const auto& x) { return x + 1; });
}
