#include "kernels/reduce/folds.h"

namespace tailor::kernels::reduce {

const Table& table_sse2() {
  static const Table table = make_table<16>();
  return table;
}

}  // namespace tailor::kernels::reduce
