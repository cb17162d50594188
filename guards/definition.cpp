#include "guards/definition.h"

#include <array>

#include "guards/kinds/number.h"
#include "guards/kinds/relation.h"
#include "guards/kinds/state.h"
#include "guards/kinds/structure.h"
#include "guards/kinds/tensor.h"

namespace tailor::guards {
namespace {

constexpr std::array<Definition, kGuardKinds> table = {
    kinds::alternative,   kinds::presence,       kinds::length,        kinds::keys,      //
    kinds::defined,       kinds::dtype,          kinds::device,        kinds::rank,      //
    kinds::size,          kinds::size_range,     kinds::stride,        kinds::layout,    //
    kinds::requires_grad, kinds::storage_offset, kinds::storage_reach,                   //
    kinds::scalar_value,  kinds::scalar_range,   kinds::enum_value,    kinds::text,      //
    kinds::identity,      kinds::aliasing,       kinds::predicate,                       //
    kinds::ambient,       kinds::module_epoch,   kinds::watched,       kinds::liveness,  //
    kinds::step};

constexpr bool in_order() {
  for (size_t i = 0; i < table.size(); ++i) {
    if (table[i].kind != static_cast<GuardKind>(i)) return false;
  }
  return true;
}
static_assert(in_order(), "the table is indexed by kind");

}  // namespace

const Definition& definition(GuardKind kind) { return table[static_cast<size_t>(kind)]; }

std::string_view to_string(GuardKind kind) { return definition(kind).name; }
double typical_cost(GuardKind kind) { return definition(kind).typical_cost; }

std::string Guard::subject() const {
  if (kind == GuardKind::Predicate) return "sizes: " + condition();
  const std::string_view reads = definition(kind).reads;
  const size_t hole = reads.find("{}");
  if (hole == reads.npos) return path + std::string(reads);
  return path + std::string(reads.substr(0, hole)) + std::to_string(dim) + std::string(reads.substr(hole + 2));
}
std::string Guard::condition() const { return definition(kind).condition(*this); }
std::string Guard::actual(const CallDescriptor& call) const { return definition(kind).actual(*this, call); }
bool Guard::holds(const CallDescriptor& call) const { return definition(kind).holds(*this, call); }
std::string Guard::suggestion() const { return std::string(definition(kind).suggestion); }

Guard relax(const Guard& guard, int64_t min, int64_t max) {
  const bool size = guard.kind == GuardKind::Size || guard.kind == GuardKind::SizeRange;
  const bool integer = (guard.kind == GuardKind::ScalarValue || guard.kind == GuardKind::ScalarRange) &&
                       static_cast<Scalar::Kind>(guard.dim) == Scalar::Kind::Int;
  check(size || integer, "relax: only sizes and integers have a range, not `", guard.condition(), "`");
  check(min <= max, "relax: the range of `", guard.condition(), "` is empty: ", min, " to ", max);
  const int64_t most = guard.kind == GuardKind::SizeRange || guard.kind == GuardKind::ScalarRange ? guard.most : guard.expected;
  check(min <= guard.expected && max >= most, "relax: ", min, " to ", max, " leaves out what was recorded: `", guard.condition(), "`");
  Guard wide = guard;
  wide.kind = size ? GuardKind::SizeRange : GuardKind::ScalarRange;
  wide.expected = min;
  wide.most = max;
  return wide;
}

}  // namespace tailor::guards
