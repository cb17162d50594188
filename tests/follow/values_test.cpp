// The row in which a call keeps its tensors by number.
#include "frontend/follow/values.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <new>
#include <utility>

namespace tailor::follow {
namespace {

TEST(Values, KeepTheirPlacesWhenTheRowGrows) {
  Values values;
  values.make_room(2, 1);
  values.slot(0).id = 10;
  values.slot(1).id = 11;
  values.external(0).id = 20;
  const auto unchanged = [&] {
    EXPECT_EQ(values.slot(0).id, 10u);
    EXPECT_EQ(values.slot(1).id, 11u);
    EXPECT_EQ(values.external(0).id, 20u);
  };
  values.make_room(2, 5);
  unchanged();
  EXPECT_GE(values.externals(), 5);
  EXPECT_EQ(values.external(4).tensor, nullptr);
  values.make_room(100, 3);
  unchanged();
  EXPECT_GE(values.slots(), 100);
  EXPECT_EQ(values.slot(99).like, 0u);
  values.make_room(0, 0);
  unchanged();
}

TEST(Values, SlotsAndExternalsLieApart) {
  Values values;
  values.make_room(3, 3);
  for (int i = 0; i < 3; ++i) values.slot(i).id = 1 + static_cast<uint64_t>(i), values.external(i).id = 101 + static_cast<uint64_t>(i);
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(values.at(place_of_slot(i)).id, 1 + static_cast<uint64_t>(i));
    EXPECT_EQ(values.at(place_of_external(i)).id, 101 + static_cast<uint64_t>(i));
  }
}

// What a value was made for is known by number: an instance's memory may be another one's later.
TEST(Values, InstancesInTheSameMemoryAreDifferent) {
  alignas(Instance) std::byte memory[sizeof(Instance)];
  uint64_t before = 0;
  for (int i = 0; i < 3; ++i) {
    auto* instance = new (memory) Instance;
    EXPECT_NE(instance->serial, 0u);
    EXPECT_NE(instance->serial, std::exchange(before, instance->serial));
    instance->~Instance();
  }
}

}  // namespace
}  // namespace tailor::follow
