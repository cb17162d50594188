#include "kernels/normalize/rows.h"

namespace tailor::kernels::normalize {

const Table& table_avx2() {
  static const Table table = make_table<32>();
  return table;
}

}  // namespace tailor::kernels::normalize
