#include "ir/reference.h"

#include <mutex>
#include <unordered_map>

#include "ir/infer.h"
#include "ir/interpreter.h"
#include "ir/reference_pointwise.h"

namespace tailor::ir {
namespace {

struct References {
  std::mutex mutex;
  std::unordered_map<std::string_view, ReferenceFn> by_name;
};
References& references() {
  static auto* instance = new References;
  return *instance;
}

using MemoryOperand = OperandOf<MemoryTensor>;

std::vector<MemoryTensor> call_on_memory(const OpDef& op, std::span<const MemoryOperand> operands, std::span<const AttrRef> attrs);

// Runs each call of a decomposition at once.
class MemoryBuilder final : public Builder {
 public:
  int add(MemoryTensor tensor) {
    values_.push_back(std::make_unique<MemoryTensor>(std::move(tensor)));
    return static_cast<int>(values_.size()) - 1;
  }
  const MemoryTensor& value(int v) const { return *values_.at(static_cast<size_t>(v)); }
  const TensorSpec& spec(int v) const override { return value(v).spec; }

  std::vector<int> call_many(const OpDef& op, std::span<const Value> operands, std::span<const AttrRef> attrs) override {
    std::vector<Value> all(operands.begin(), operands.end());
    std::vector<Attr> all_attrs(attrs.begin(), attrs.end());
    complete_arguments(op, all, all_attrs);
    const std::vector<AttrRef> refs(all_attrs.begin(), all_attrs.end());
    std::vector<MemoryOperand> memory;
    for (const Value& v : all) {
      if (v.is_none())
        memory.emplace_back();
      else if (v.is_scalar())
        memory.emplace_back(v.scalar);
      else
        memory.emplace_back(value(v.tensor));
    }
    std::vector<int> results;
    for (MemoryTensor& t : call_on_memory(op, memory, refs)) results.push_back(add(std::move(t)));
    return results;
  }

 private:
  std::vector<std::unique_ptr<MemoryTensor>> values_;  // specs are handed out by reference
};

std::vector<SpecOperand> spec_operands(std::span<const MemoryOperand> operands) {
  std::vector<SpecOperand> specs;
  for (const MemoryOperand& o : operands) {
    if (o.is_none())
      specs.emplace_back();
    else if (o.is_scalar())
      specs.emplace_back(o.scalar);
    else
      specs.emplace_back(&o.tensor.spec);
  }
  return specs;
}

std::vector<HostTensor> compute(const OpDef& op, std::span<const HostOperand> operands, std::span<const AttrRef> attrs,
                                std::span<const TensorSpec> specs) {
  const ReferenceCall call{op, operands, attrs, specs};
  if (ReferenceFn fn = find_reference(op)) return fn(call);
  internal_check(op.kind == OpKind::Pointwise, "op ", op.name, " has neither a reference implementation nor a decomposition");
  return {evaluate_pointwise(call)};
}

std::vector<MemoryTensor> call_on_memory(const OpDef& op, std::span<const MemoryOperand> operands, std::span<const AttrRef> attrs) {
  if (op.kind == OpKind::View) {
    const MemoryTensor& input = operands[0].tensor;
    const ViewResult view = op.view(input.spec, attrs);
    MemoryTensor result = input;
    result.data += view.offset * element_size(input.spec.dtype);
    // A view whose position is an operand.
    if (operands.size() > 1 && operands[1].is_scalar()) result.data += operands[1].scalar.to_int() * element_size(input.spec.dtype);
    result.spec = TensorSpec(input.spec.dtype, view.sizes, view.strides, input.spec.device);
    if (op.infer) result.spec.dtype = infer_specs(op, spec_operands(operands), attrs).at(0).dtype;
    return {result};
  }
  if (op.decompose != nullptr && find_reference(op) == nullptr) {
    MemoryBuilder builder;
    std::vector<Value> values;
    for (const MemoryOperand& o : operands) {
      if (o.is_none())
        values.emplace_back();
      else if (o.is_scalar())
        values.emplace_back(o.scalar);
      else
        values.emplace_back(builder.add(o.tensor));
    }
    std::vector<MemoryTensor> results;
    for (int v : op.decompose(builder, values, attrs)) results.push_back(builder.value(v));
    return results;
  }
  const std::vector<TensorSpec> specs = infer_specs(op, spec_operands(operands), attrs);
  std::vector<HostTensor> gathered;
  gathered.reserve(operands.size());
  std::vector<HostOperand> host;
  for (const MemoryOperand& o : operands) {
    if (o.is_none())
      host.emplace_back();
    else if (o.is_scalar())
      host.emplace_back(o.scalar);
    else
      host.emplace_back(&gathered.emplace_back(gather(o.tensor.data, o.tensor.spec)));
  }
  std::vector<HostTensor> values = compute(op, host, attrs, specs);
  internal_check(values.size() == specs.size(), "reference of ", op.name, " gives ", values.size(), " values");
  if (op.kind == OpKind::Effect) {
    scatter(values[0], operands[0].tensor.data, operands[0].tensor.spec);
    return {operands[0].tensor};
  }
  std::vector<MemoryTensor> results;
  for (size_t i = 0; i < specs.size(); ++i) {
    results.push_back(allocate_memory(specs[i]));
    scatter(values[i], results.back().data, specs[i]);
  }
  return results;
}

MemoryTensor on_own_memory(const HostTensor& tensor) {
  MemoryTensor result{std::make_shared<std::vector<std::byte>>(tensor.bytes), nullptr, tensor.spec};
  result.data = result.owner->data();
  return result;
}

}  // namespace

void register_reference(std::string_view op, ReferenceFn fn) {
  References& r = references();
  std::lock_guard lock(r.mutex);
  internal_check(r.by_name.emplace(op, fn).second, "reference of ", op, " is registered twice");
}

ReferenceFn find_reference(const OpDef& op) {
  References& r = references();
  std::lock_guard lock(r.mutex);
  const auto it = r.by_name.find(op.name);
  return it == r.by_name.end() ? nullptr : it->second;
}

MemoryTensor allocate_memory(const TensorSpec& spec) {
  MemoryTensor result{std::make_shared<std::vector<std::byte>>(static_cast<size_t>(extent_of(spec) * element_size(spec.dtype))), nullptr,
                      spec};
  result.data = result.owner->data();
  return result;
}

std::vector<HostTensor> evaluate(const OpDef& op, std::span<const HostOperand> operands, std::span<const AttrRef> attrs) {
  std::vector<MemoryOperand> memory;
  for (const HostOperand& o : operands) {
    if (o.is_none())
      memory.emplace_back();
    else if (o.is_scalar())
      memory.emplace_back(o.scalar);
    else
      memory.emplace_back(on_own_memory(*o.tensor));
  }
  std::vector<HostTensor> results;
  for (const MemoryTensor& t : call_on_memory(op, memory, attrs)) results.push_back(gather(t.data, t.spec));
  return results;
}

std::vector<MemoryTensor> interpret_memory(const Graph& graph, std::span<void* const> inputs, std::span<const tailor::Scalar> scalars) {
  std::vector<MemoryTensor> values(graph.values.size());
  std::vector<tailor::Scalar> scalar_values(graph.values.size());
  size_t next_input = 0, next_scalar = 0;
  for (const Node& node : graph.nodes) {
    switch (node.kind) {
      case NodeKind::Placeholder: {
        internal_check(next_input < inputs.size(), "interpret: too few inputs");
        values[static_cast<size_t>(node.outputs[0])] = {nullptr, static_cast<std::byte*>(inputs[next_input++]),
                                                        graph.spec(node.outputs[0])};
        break;
      }
      case NodeKind::Scalar: {
        const tailor::Scalar s = next_scalar < scalars.size() ? scalars[next_scalar] : node.scalar;
        ++next_scalar;
        internal_check(s.kind() == node.scalar.kind(), "interpret: scalar ", node.name, " has another kind than recorded");
        scalar_values[static_cast<size_t>(node.outputs[0])] = s;
        MemoryTensor tensor = allocate_memory(graph.spec(node.outputs[0]));
        visit_dtype(tensor.spec.dtype, [&]<class T>() { *reinterpret_cast<T*>(tensor.data) = s.to<T>(); });
        values[static_cast<size_t>(node.outputs[0])] = std::move(tensor);
        break;
      }
      case NodeKind::Constant: {
        MemoryTensor tensor = allocate_memory(graph.spec(node.outputs[0]));
        *tensor.owner = node.constant->bytes;
        tensor.data = tensor.owner->data();
        values[static_cast<size_t>(node.outputs[0])] = std::move(tensor);
        break;
      }
      case NodeKind::CallOp: {
        std::vector<MemoryOperand> operands;
        for (const Value& v : node.operands) {
          if (v.is_none())
            operands.emplace_back();
          else if (v.is_scalar())
            operands.emplace_back(v.scalar);
          else if (graph.node_of(v.tensor).kind == NodeKind::Scalar)
            operands.emplace_back(scalar_values[static_cast<size_t>(v.tensor)]);
          else
            operands.emplace_back(values[static_cast<size_t>(v.tensor)]);
        }
        const std::vector<AttrRef> attrs = attr_refs(node);
        std::vector<MemoryTensor> results = call_on_memory(*node.op, operands, attrs);
        if (node.inplace) {
          const MemoryTensor& self = operands[0].tensor;
          if (results.at(0).data != self.data) scatter(gather(results[0].data, results[0].spec), self.data, self.spec);
          values[static_cast<size_t>(node.outputs[0])] = self;
          break;
        }
        for (size_t i = 0; i < results.size(); ++i) {
          MemoryTensor& result = results[i];
          const TensorSpec& spec = graph.spec(node.outputs[i]);
          if (result.spec.strides != spec.strides && node.op->kind != OpKind::View) {  // a pass chose another layout
            MemoryTensor other = allocate_memory(spec);
            scatter(gather(result.data, result.spec), other.data, spec);
            result = std::move(other);
          }
          result.spec = spec;
          values[static_cast<size_t>(node.outputs[i])] = std::move(result);
        }
        break;
      }
    }
  }
  std::vector<MemoryTensor> outputs;
  for (ValueId v : graph.outputs) outputs.push_back(values[static_cast<size_t>(v)]);
  return outputs;
}

std::vector<HostTensor> interpret(const Graph& graph, std::span<HostTensor> inputs, std::span<const tailor::Scalar> scalars) {
  std::vector<MemoryTensor> memory;
  std::vector<void*> pointers;
  for (const Node& node : graph.nodes) {
    if (node.kind != NodeKind::Placeholder) continue;
    const TensorSpec& spec = graph.spec(node.outputs[0]);
    check(memory.size() < inputs.size(), "interpret: expected more than ", inputs.size(), " inputs");
    const HostTensor& input = inputs[memory.size()];
    check(input.spec.dtype == spec.dtype && input.spec.sizes == spec.sizes, "interpret: input ", memory.size(), " is ", input.spec,
          ", expected ", spec);
    memory.push_back(allocate_memory(spec));
    scatter(input, memory.back().data, spec);
    pointers.push_back(memory.back().data);
  }
  std::vector<HostTensor> results;
  for (const MemoryTensor& t : interpret_memory(graph, pointers, scalars)) results.push_back(gather(t.data, t.spec));
  for (size_t i = 0; i < memory.size(); ++i) inputs[i] = gather(memory[i].data, memory[i].spec);
  return results;
}

}  // namespace tailor::ir
