// The caching allocator and storages over it.
#include "runtime/allocator.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>
#include <random>
#include <thread>
#include <vector>

#include "runtime/storage.h"

namespace tailor {
namespace {

template <class E, class F>
std::string message_of(F&& f) {
  try {
    f();
  } catch (const E& e) { return e.what(); }
  return "(nothing thrown)";
}

TEST(Allocator, BlocksAreAlignedAndDisjoint) {
  std::mt19937_64 random(1);
  std::vector<std::pair<unsigned char*, size_t>> blocks;
  std::vector<size_t> sizes = {
      0, 1, 63, 64, 65, 1023, 1024, 1025, 1279, 1280, 1281, 65536, 65537, (1 << 20) - 1, 1 << 20, (1 << 20) + 1, 5000000};
  for (int i = 0; i < 2000; ++i) sizes.push_back(random() % (i % 10 == 0 ? 300000 : 3000));
  for (size_t i = 0; i < sizes.size(); ++i) {
    auto* block = static_cast<unsigned char*>(allocate_memory(sizes[i]));
    ASSERT_EQ(reinterpret_cast<uintptr_t>(block) % 64, 0u) << sizes[i];
    std::memset(block, static_cast<int>(i & 255), sizes[i]);
    blocks.emplace_back(block, sizes[i]);
    if (i % 3 == 2) {
      const size_t victim = random() % blocks.size();
      if (blocks[victim].first != nullptr) release_memory(blocks[victim].first, blocks[victim].second);
      blocks[victim] = {nullptr, 0};
    }
  }
  for (size_t i = 0; i < blocks.size(); ++i) {
    if (blocks[i].first == nullptr) continue;
    for (size_t at = 0; at < blocks[i].second; ++at) ASSERT_EQ(blocks[i].first[at], i & 255) << "block " << i;
    release_memory(blocks[i].first, blocks[i].second);
  }
}

TEST(Allocator, LargeBlocksAreReused) {
  const size_t bytes = size_t{5} << 20;
  void* first = allocate_memory(bytes);
  release_memory(first, bytes);
  void* second = allocate_memory(bytes - 1000);
  if (allocator_keeps_blocks()) {
    EXPECT_EQ(first, second);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(second) % (2 << 20), 0u);
    EXPECT_GE(allocator_stats().large_hits, 1u);
  }
  release_memory(second, bytes - 1000);
  empty_allocator_cache();
  EXPECT_EQ(allocator_stats().bytes_cached, 0u);
}

TEST(Allocator, StatisticsCountEveryThread) {
  const AllocatorStats before = allocator_stats();
  void* kept = allocate_memory(1000);
  std::thread([&] {
    for (int i = 0; i < 1000; ++i) release_memory(allocate_memory(100), 100);
    release_memory(kept, 1000);
  }).join();
  const AllocatorStats after = allocator_stats();
  EXPECT_EQ(after.allocations - before.allocations, 1001u);
  EXPECT_EQ(after.releases - before.releases, 1001u);
  EXPECT_EQ(after.bytes_in_use, before.bytes_in_use);
}

TEST(Allocator, AbsurdSizesAreRefused) {
  for (const size_t bytes : {size_t{1} << 46, size_t{1} << 62, SIZE_MAX, SIZE_MAX - 63}) {
    const std::string text = message_of<OutOfMemoryError>([&] { allocate_memory(bytes); });
    EXPECT_NE(text.find("tried to allocate " + std::to_string(bytes) + " bytes"), std::string::npos) << text;
  }
  release_memory(allocate_memory(100), 100);
  const size_t huge = size_t{1} << 36;  // some machines have it: it goes back the way it came
  try {
    release_memory(allocate_memory(huge), huge);
  } catch (const OutOfMemoryError&) { SUCCEED(); }
}

TEST(Allocator, BlocksTravelBetweenThreads) {
  std::vector<std::thread> threads;
  std::vector<std::vector<void*>> made(4);
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&, t] {
      for (int i = 0; i < 5000; ++i) made[static_cast<size_t>(t)].push_back(allocate_memory(256));
    });
  for (auto& t : threads) t.join();
  threads.clear();
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&, t] {
      for (void* block : made[static_cast<size_t>((t + 1) % 4)]) release_memory(block, 256);
    });
  for (auto& t : threads) t.join();
}

TEST(Allocator, WorksInAForkedChild) {
  std::atomic<bool> stop{false};
  std::thread busy([&] {
    while (!stop) {
      release_memory(allocate_memory(size_t{3} << 20), size_t{3} << 20);
      std::vector<void*> blocks;
      for (int i = 0; i < 500; ++i) blocks.push_back(allocate_memory(64));
      for (void* block : blocks) release_memory(block, 64);
    }
  });
  for (int i = 0; i < 20; ++i) {
    const pid_t child = fork();
    if (child == 0) {
      alarm(20);
      for (int k = 0; k < 1000; ++k) allocate_memory(200);
      release_memory(allocate_memory(size_t{3} << 20), size_t{3} << 20);
      _exit(0);
    }
    int status = 0;
    waitpid(child, &status, 0);
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  }
  stop = true;
  busy.join();
}

TEST(Storage, OwnsItsMemory) {
  for (const size_t bytes : {size_t{0}, size_t{1}, size_t{4096}, (size_t{1} << 20) - 64, size_t{1} << 20, size_t{3} << 20}) {
    auto storage = Storage::allocate(bytes, kCPU);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(storage->data()) % 64, 0u);
    EXPECT_EQ(storage->bytes(), bytes);
    EXPECT_FALSE(storage->exposed());
    std::memset(storage->data(), 1, bytes);
    auto other = storage;
    storage.reset();
    EXPECT_EQ(other->use_count(), 1u);
  }
}

TEST(Storage, ForeignMemoryIsExposedAndGivenBack) {
  int data[4] = {}, deleted = 0;
  {
    auto storage = Storage::wrap(data, sizeof data, kCPU, [&](void* p) { deleted += p == data; });
    EXPECT_TRUE(storage->exposed());
    EXPECT_EQ(storage->data(), data);
  }
  EXPECT_EQ(deleted, 1);
  Storage::wrap(data, sizeof data, kCPU, nullptr);
}

TEST(Storage, CudaSaysWhatIsMissing) {
  const std::string text = message_of<Error>([] { Storage::allocate(16, Device(kCUDA, 1)); });
  EXPECT_EQ(text.rfind("cannot allocate 16 bytes on cuda:1: ", 0), 0u) << text;
}

// Released after main, when thread-local and function-local statics are gone.
struct ReleasedLate {
  IntrusivePtr<Storage> small = Storage::allocate(100, kCPU), large = Storage::allocate(size_t{2} << 20, kCPU);
};
ReleasedLate released_late;

}  // namespace
}  // namespace tailor
