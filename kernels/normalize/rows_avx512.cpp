#include "kernels/normalize/rows.h"

namespace tailor::kernels::normalize {

const Table& table_avx512() {
  static const Table table = make_table<64>();
  return table;
}

}  // namespace tailor::kernels::normalize
