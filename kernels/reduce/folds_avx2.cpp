#include "kernels/reduce/folds.h"

namespace tailor::kernels::reduce {

const Table& table_avx2() {
  static const Table table = make_table<32>();
  return table;
}

}  // namespace tailor::kernels::reduce
