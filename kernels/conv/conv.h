#pragma once
// Convolution as a matrix product whose right operand is never built: with the input padded once, and split into one image per phase of
// the stride, the pixels that one tap of the kernel reads for consecutive outputs lie side by side in memory. Row (channel, tap) of the
// right operand is then just an address, and the tiles of kernels/gemm read it there. Outputs are numbered with the padded width; the
// few that fall between rows are computed and dropped.

#include <cstdint>
#include <vector>

#include "ir/ops/conv.h"
#include "kernels/kernels.h"

namespace tailor::kernels::conv {

/// Where the padded images of one input image lie, in elements, and how taps find their pixels.
struct PhaseLayout {
  int64_t size[3] = {};  // of one phase image
  int64_t plane = 0;     // its elements
  struct Phase {
    int64_t at[3];  // offset of its first pixel in the padded input
  };
  std::vector<Phase> phases;     // those that some tap reads
  std::vector<int64_t> offsets;  // per (channel of a group, tap): distance from output pixel 0; phases are outermost, then channels
  int64_t channels = 0;
  int64_t elements() const { return static_cast<int64_t>(phases.size()) * channels * plane; }
};
PhaseLayout phase_layout(const ir::ConvShape& shape);

/// One image of the input: channels and pixels with their strides.
struct Image {
  const void* data;
  int64_t channel, stride[3];
};
/// Fills channels [begin, end) of the phase images, converting to T.
template <class T, class S>
void fill_phases(T* to, const PhaseLayout& layout, const ir::ConvShape& shape, const Image& image, int64_t begin, int64_t end);

/// Operands of a call brought to three spatial dims.
struct ConvCall {
  ir::ConvShape shape;
  ScalarType dtype;
  const std::byte *input, *weight, *bias;
  std::byte* out;
  int64_t input_image = 0, input_channel = 0, input_stride[3] = {}, out_image = 0, out_channel = 0, out_stride[3] = {}, bias_stride = 0;
  ir::TensorSpec weight_spec;
};
ConvCall conv_call(const Call& call);

/// The weights in compute type T, contiguous.
template <class T>
void gather_weights(T* to, const ConvCall& call);

void run_transposed(const ConvCall& call);

}  // namespace tailor::kernels::conv
