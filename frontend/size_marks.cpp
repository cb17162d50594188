#include "frontend/size_marks.h"

#include "tailor/dynamic.h"

namespace tailor {
namespace {

void mark(const Tensor& tensor, int64_t dim, SizeRange range, DimMark::Kind kind, const char* name) {
  check(tensor.defined(), name, ": the tensor is undefined");
  check(range.min <= range.max && range.max >= 2, name, ": expected a range that holds a size of at least 2, got [", range.min, ", ",
        range.max, "]");
  TensorImpl& impl = impl_of(*tensor.head());
  DimMark fresh;
  fresh.kind = kind;
  fresh.dim = static_cast<int>(wrap_dim(dim, impl.spec.rank()));
  fresh.min = range.min;
  fresh.max = range.max;
  auto marks = impl.size_marks ? std::make_shared<SizeMarks>(*impl.size_marks) : std::make_shared<SizeMarks>();
  std::erase_if(marks->marks, [&](const DimMark& m) { return m.dim == fresh.dim; });
  marks->marks.push_back(fresh);
  impl.size_marks = std::move(marks);
}

}  // namespace

const DimMark* mark_of(const TensorImpl& tensor, int dim) {
  if (!tensor.size_marks) return nullptr;
  for (const DimMark& mark : tensor.size_marks->marks) {
    if (mark.dim == dim) return &mark;
  }
  return nullptr;
}

void mark_dynamic(const Tensor& tensor, int64_t dim, SizeRange range) { mark(tensor, dim, range, DimMark::Kind::Dynamic, "mark_dynamic"); }
void maybe_mark_dynamic(const Tensor& tensor, int64_t dim, SizeRange range) {
  mark(tensor, dim, range, DimMark::Kind::MaybeDynamic, "maybe_mark_dynamic");
}
void mark_static(const Tensor& tensor, int64_t dim) { mark(tensor, dim, {}, DimMark::Kind::Static, "mark_static"); }

}  // namespace tailor
