#include "kernels/reduce/folds.h"

namespace tailor::kernels::reduce {

const Table& table_avx512() {
  static const Table table = make_table<64>();
  return table;
}

}  // namespace tailor::kernels::reduce
