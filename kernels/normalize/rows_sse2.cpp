#include "kernels/normalize/rows.h"

namespace tailor::kernels::normalize {

const Table& table_sse2() {
  static const Table table = make_table<16>();
  return table;
}

}  // namespace tailor::kernels::normalize
