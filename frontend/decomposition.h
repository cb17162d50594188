#pragma once
// Runs decompositions call by call on tensors: in eager mode, and where a public function is defined by the views that an op's
// decomposition consists of.

#include <boost/container/small_vector.hpp>

#include "frontend/call.h"
#include "ir/builder.h"

namespace tailor {

/// `Run` performs one call: run_eager_many for what happens inside of an eager op, dispatch_many for what compiled calls should see.
template <std::vector<Tensor> (*Run)(const OpCall&)>
class Decomposition final : public ir::Builder {
 public:
  explicit Decomposition(Where where) : where_(where) {}
  int add(Tensor tensor) {
    values_.push_back(std::move(tensor));
    return static_cast<int>(values_.size()) - 1;
  }
  std::vector<int> call_many(const ir::OpDef& op, std::span<const ir::Value> operands, std::span<const ir::AttrRef> attrs) override {
    boost::container::small_vector<Operand, 8> inputs;
    for (const ir::Value& o : operands) {
      if (o.is_tensor())
        inputs.push_back(&impl_of(value(o.tensor)));
      else if (o.is_scalar())
        inputs.push_back(o.scalar);
      else
        inputs.push_back(std::nullopt);
    }
    std::vector<int> results;
    for (Tensor& t : Run(OpCall{op, inputs, attrs, false, where_})) results.push_back(add(std::move(t)));
    return results;
  }
  const ir::TensorSpec& spec(int v) const override { return impl_of(value(v)).spec; }
  const Tensor& value(int v) const { return values_.at(static_cast<size_t>(v)); }

  /// The results of the op's decomposition.
  std::vector<Tensor> run(const ir::OpDef& op, std::span<const Operand> operands, std::span<const ir::AttrRef> attrs) {
    boost::container::small_vector<ir::Value, 8> values;
    for (const Operand& o : operands) {
      if (o.is_tensor())
        values.push_back(add(Tensor(IntrusivePtr<TensorHead>(o.tensor))));
      else if (o.is_scalar())
        values.push_back(o.scalar);
      else
        values.push_back(std::nullopt);
    }
    std::vector<Tensor> results;
    for (int v : op.decompose(*this, values, attrs)) results.push_back(value(v));
    return results;
  }

 private:
  Where where_;
  std::vector<Tensor> values_;
};

}  // namespace tailor
