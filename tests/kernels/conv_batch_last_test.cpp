// conv2d_batch_last against the reference, and against conv2d, at every instruction set.
#include "kernels/epilogue.h"
#include "kernels/kernel_case.h"
#include "runtime/thread_pool.h"

namespace tailor::testing {
namespace {

struct Case {
  std::vector<int64_t> input, weight;  // [C, H, W, N], [out, C, ...]
  std::vector<int64_t> stride{1, 1}, padding{0, 0}, dilation{1, 1};
};

const std::vector<Case>& cases() {
  static const std::vector<Case> all = {
      {{1, 8, 8, 64}, {16, 1, 3, 3}, {1, 1}, {1, 1}},
      {{16, 4, 4, 32}, {32, 16, 3, 3}, {1, 1}, {1, 1}},
      {{3, 9, 10, 16}, {20, 3, 3, 3}, {2, 2}, {1, 1}},
      {{5, 7, 12, 48}, {9, 5, 2, 3}, {2, 3}, {0, 2}},
      {{4, 6, 6, 16}, {17, 4, 1, 1}},
      {{4, 7, 7, 16}, {3, 4, 1, 1}, {2, 2}},
      {{2, 11, 11, 32}, {7, 2, 3, 3}, {1, 1}, {2, 2}, {2, 2}},
      {{2, 3, 3, 16}, {1, 2, 5, 5}, {1, 1}, {2, 2}},
      {{2, 2, 2, 16}, {4, 2, 5, 5}, {1, 1}, {4, 4}},        // windows wholly on the padding
      {{3, 5, 6, 16}, {8, 3, 2, 3}, {1, 1}, {0, 1, 1, 1}},  // padding of two sides
      {{2, 5, 5, 7}, {4, 2, 3, 3}, {1, 1}, {1, 1}},         // no whole vectors
      {{2, 5, 6, 17}, {9, 2, 3, 3}, {1, 1}, {1, 1}},        // vectors across pixels
      {{3, 7, 8, 21}, {4, 3, 3, 3}, {2, 2}, {1, 1}},
      {{1, 8, 8, 45}, {16, 1, 3, 3}, {1, 1}, {1, 1}},
  };
  return all;
}

std::vector<ir::AttrRef> attributes(const Case& c) { return {c.stride, c.padding, c.dilation, 1}; }

TEST(ConvBatchLast, EveryCaseAtEveryInstructionSet) {
  at_every_isa([] {
    for (const Case& c : cases())
      for (const bool bias : {false, true})
        for (const bool gaps : {false, true}) {
          const ir::HostTensor w = random_values(kFloat32, c.weight, 2), b = random_values(kFloat32, {c.weight[0]}, 3);
          Strided input = dense(random_values(kFloat32, c.input, 1)), weight = gaps ? spaced(w) : dense(w),
                  add = gaps ? spaced(b) : dense(b);
          const std::vector<Strided*> operands = {&input, &weight, bias ? &add : nullptr};
          const auto got = run_kernel("conv2d_batch_last", operands, attributes(c)),
                     want = run_reference("conv2d_batch_last", operands, attributes(c));
          const double terms = static_cast<double>(w.spec.numel() / c.weight[0]);
          EXPECT_TRUE(close(got[0], want[0], epsilon_of(kFloat32) * (2 + std::sqrt(terms)), std::sqrt(terms))) << w.spec << input.spec();
        }
  });
}

TEST(ConvBatchLast, SumsInTheOrderOfConv2d) {
  at_every_isa([] {
    for (const Case& c : cases()) {
      const ir::HostTensor last = random_values(kFloat32, c.input, 1);
      Strided input = dense(last), weight = dense(random_values(kFloat32, c.weight, 2));
      ir::TensorSpec spec = last.spec;
      for (Dims* d : {&spec.sizes, &spec.strides}) std::rotate(d->begin(), d->end() - 1, d->end());
      Strided first = dense(ir::gather(last.bytes.data(), spec));
      const auto got = run_kernel("conv2d_batch_last", {&input, &weight, nullptr}, attributes(c)),
                 want = run_kernel("conv2d", {&first, &weight, nullptr}, attributes(c));
      ir::TensorSpec seen = got[0].spec;
      for (Dims* d : {&seen.sizes, &seen.strides}) std::rotate(d->begin(), d->end() - 1, d->end());
      EXPECT_TRUE(close(ir::gather(got[0].bytes.data(), seen), want[0], c.input[3] >= 16 ? 0 : 1e-6));
    }
  });
}

TEST(ConvBatchLast, InfiniteWeightsMakeNanOfPadding) {
  const Case& c = cases()[1];
  ir::HostTensor w = random_values(kFloat32, c.weight, 2);
  w.set(0, INFINITY);
  w.set(16 * 9 + 4, NAN);
  const ir::HostTensor last = random_values(kFloat32, c.input, 1);
  Strided input = dense(last), weight = dense(w);
  ir::TensorSpec spec = last.spec;
  for (Dims* d : {&spec.sizes, &spec.strides}) std::rotate(d->begin(), d->end() - 1, d->end());
  Strided first = dense(ir::gather(last.bytes.data(), spec));
  const auto got = run_kernel("conv2d_batch_last", {&input, &weight, nullptr}, attributes(c)),
             want = run_kernel("conv2d", {&first, &weight, nullptr}, attributes(c));
  ir::TensorSpec seen = got[0].spec;
  for (Dims* d : {&seen.sizes, &seen.strides}) std::rotate(d->begin(), d->end() - 1, d->end());
  EXPECT_TRUE(close(ir::gather(got[0].bytes.data(), seen), want[0], 0));
}

// The same results from laid out weights, on any number of threads; the epilogue sees every element once.
TEST(ConvBatchLast, PackedThreadedAndWithEpilogue) {
  const int threads = get_num_threads();
  const ir::OpDef& op = *ir::find_op("conv2d_batch_last");
  const kernels::Contraction& contraction = *kernels::find_contraction(op);
  at_every_isa([&] {
    for (const Case& c : cases()) {
      Strided x = dense(random_values(kFloat32, c.input, 1)), w = dense(random_values(kFloat32, c.weight, 2));
      const std::vector<ir::AttrRef> attrs = attributes(c);
      const auto plain = run_kernel(op.name, {&x, &w, nullptr}, attrs);
      for (const int n : {1, 2, 5}) {
        set_num_threads(n);
        Strided out(plain[0].spec);
        const kernels::Operand operands[] = {x.arg(), w.arg(), {}};
        const kernels::TensorArg outputs[] = {out.arg()};
        kernels::Call call{op, operands, attrs, outputs};
        const std::string key = contraction.prepacking.key(call);
        EXPECT_EQ(key.empty(), c.input[3] < 16);
        const auto pack = key.empty() ? nullptr : contraction.prepacking.pack(call);
        call.prepacked = pack.get();
        struct Negate {
          int64_t columns;
          float* first;
          static void part(void* context, const kernels::Region& r) {
            const Negate& self = *static_cast<Negate*>(context);
            for (int64_t i = 0; i < r.rows; ++i)
              for (int64_t j = 0; j < r.columns; ++j) {
                float& v = static_cast<float*>(r.data)[i * r.row_stride + j * r.column_stride];
                EXPECT_EQ(&v, self.first + (r.row + i) * self.columns + r.column + j);
                v = -v;
              }
          }
        } negate{plain[0].spec.numel() / c.weight[0], static_cast<float*>(out.data())};
        contraction.kernel(call, {Negate::part, &negate});
        ir::HostTensor got = out.values();
        for (int64_t i = 0; i < got.spec.numel(); ++i) got.set(i, -got.get(i));
        EXPECT_EQ(got.bytes, plain[0].bytes);
        EXPECT_TRUE(out.guards_intact());
      }
    }
  });
  set_num_threads(threads);
}

}  // namespace
}  // namespace tailor::testing
