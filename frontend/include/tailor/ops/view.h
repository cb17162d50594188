#pragma once
// Views, which share memory with their operand, and ops that move data. Negative dimensions count from the end; IndexError for one
// out of range.
//
//   Tensor heads = x.view({b, t, 4, 16}).transpose(1, 2);   // shares memory with x
//   Tensor both = cat({x, y}, 1);

#include "tailor/tensor.h"

namespace tailor {

// ---- views --------------------------------------------------------------------------------------------------------
/// A view where strides allow, else a copy. One size may be -1.
Tensor reshape(const Tensor& self, SymIntArrayRef shape, Where where = Where::current());
/// Merges dimensions start_dim .. end_dim.
Tensor flatten(const Tensor& self, int64_t start_dim = 0, int64_t end_dim = -1, Where where = Where::current());
Tensor ravel(const Tensor& self, Where where = Where::current());
Tensor unflatten(const Tensor& self, int64_t dim, SymIntArrayRef sizes, Where where = Where::current());
/// Dimensions in another order: dims[i] becomes dimension i.
Tensor permute(const Tensor& self, IntArrayRef dims, Where where = Where::current());
Tensor transpose(const Tensor& self, int64_t dim0, int64_t dim1, Where where = Where::current());
Tensor swapaxes(const Tensor& self, int64_t dim0, int64_t dim1, Where where = Where::current());
/// The transpose of a matrix; vectors stay as they are.
Tensor t(const Tensor& self, Where where = Where::current());
/// Dimensions `source` go to `destination`, the others keep their order.
Tensor movedim(const Tensor& self, IntArrayRef source, IntArrayRef destination, Where where = Where::current());
/// Without (these) dimensions of size 1; others stay.
Tensor squeeze(const Tensor& self, Where where = Where::current());
Tensor squeeze(const Tensor& self, IntArrayRef dim, Where where = Where::current());
/// With a dimension of size 1 at `dim`.
Tensor unsqueeze(const Tensor& self, int64_t dim, Where where = Where::current());
/// `length` elements of `dim` from `start` on. IndexError or Error where they are not there.
Tensor narrow(const Tensor& self, int64_t dim, const SymInt& start, const SymInt& length, Where where = Where::current());
Tensor narrow(const Tensor& self, int64_t dim, const Tensor& start, const SymInt& length, Where where = Where::current());
/// start:end:step of `dim`, as in Python: bounds beyond the ends are cut.
Tensor slice(const Tensor& self, int64_t dim = 0, const std::optional<SymInt>& start = std::nullopt,
             const std::optional<SymInt>& end = std::nullopt, const SymInt& step = 1, Where where = Where::current());
/// Element `index` of `dim`, which goes.
Tensor select(const Tensor& self, int64_t dim, const SymInt& index, Where where = Where::current());
/// Pieces of split_size (the last may be smaller), or of the given sizes.
std::vector<Tensor> split(const Tensor& self, int64_t split_size, int64_t dim = 0, Where where = Where::current());
std::vector<Tensor> split(const Tensor& self, const SymInt& split_size, int64_t dim = 0, Where where = Where::current());
std::vector<Tensor> split(const Tensor& self, SymIntArrayRef split_sizes, int64_t dim = 0, Where where = Where::current());
/// At most `chunks` pieces of equal size, but for the last.
std::vector<Tensor> chunk(const Tensor& self, int64_t chunks, int64_t dim = 0, Where where = Where::current());
/// All select()s of `dim`.
std::vector<Tensor> unbind(const Tensor& self, int64_t dim = 0, Where where = Where::current());
/// The diagonal of two dimensions, which becomes the last one; offset > 0: above it.
Tensor diagonal(const Tensor& self, const SymInt& offset = 0, int64_t dim1 = 0, int64_t dim2 = 1, Where where = Where::current());
/// Any sizes and strides (in elements) over the storage. Error where they reach beyond it.
Tensor as_strided(const Tensor& self, IntArrayRef size, IntArrayRef stride, std::optional<int64_t> storage_offset = std::nullopt,
                  Where where = Where::current());
Tensor detach(const Tensor& self, Where where = Where::current());
/// All in the sizes that an op over them would have.
std::vector<Tensor> broadcast_tensors(TensorList tensors, Where where = Where::current());
Tensor broadcast_to(const Tensor& self, SymIntArrayRef size, Where where = Where::current());

// ---- movement -----------------------------------------------------------------------------------------------------
Tensor clone(const Tensor& self, std::optional<MemoryFormat> format = std::nullopt, Where where = Where::current());
/// Joins along an existing dimension; other sizes must be equal; dtypes promote.
Tensor cat(TensorList tensors, int64_t dim = 0, Where where = Where::current());
Tensor concat(TensorList tensors, int64_t dim = 0, Where where = Where::current());
/// Joins along a new dimension.
Tensor stack(TensorList tensors, int64_t dim = 0, Where where = Where::current());
/// Along dimension 1 (of vectors 0); along dimension 0, vectors as rows.
Tensor hstack(TensorList tensors, Where where = Where::current());
Tensor vstack(TensorList tensors, Where where = Where::current());
/// Each element `repeats` times in a row; without `dim`, of the flattened tensor.
Tensor repeat_interleave(const Tensor& self, int64_t repeats, std::optional<int64_t> dim = std::nullopt,
                         std::optional<int64_t> output_size = std::nullopt, Where where = Where::current());
/// Reads `repeats` when output_size is not given.
Tensor repeat_interleave(const Tensor& self, const Tensor& repeats, std::optional<int64_t> dim = std::nullopt,
                         std::optional<int64_t> output_size = std::nullopt, Where where = Where::current());
/// repeat_interleave(arange(n), repeats).
Tensor repeat_interleave(const Tensor& repeats, std::optional<int64_t> output_size = std::nullopt, Where where = Where::current());
/// The whole tensor so many times along each dimension.
Tensor tile(const Tensor& self, SymIntArrayRef dims, Where where = Where::current());
/// These dimensions backwards.
Tensor flip(const Tensor& self, IntArrayRef dims, Where where = Where::current());
/// Without dims, over the flattened tensor.
Tensor roll(const Tensor& self, SymIntArrayRef shifts, IntArrayRef dims = {}, Where where = Where::current());
/// The lower (upper) triangle of matrices, zeros elsewhere; diagonal > 0: up to one further right.
Tensor tril(const Tensor& self, const SymInt& diagonal = 0, Where where = Where::current());
Tensor triu(const Tensor& self, const SymInt& diagonal = 0, Where where = Where::current());
/// The matrix with this diagonal, or the diagonal of this matrix.
Tensor diag(const Tensor& self, int64_t diagonal = 0, Where where = Where::current());
/// pad: last dimension first, two numbers each; mode "constant", "reflect", "replicate" or "circular".
Tensor pad(const Tensor& self, SymIntArrayRef pad, std::string_view mode = "constant", std::optional<double> value = std::nullopt,
           Where where = Where::current());
Tensor constant_pad_nd(const Tensor& self, SymIntArrayRef pad, const Scalar& value = 0, Where where = Where::current());
/// [..., c * r^2, h, w] -> [..., c, h * r, w * r].
Tensor pixel_shuffle(const Tensor& self, int64_t upscale_factor, Where where = Where::current());

}  // namespace tailor
