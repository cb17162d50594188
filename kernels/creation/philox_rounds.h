// The ten rounds over vectors; included by one file for each instruction set, inside its namespace and after its `Words` type:
//   kWidth; load(const uint32_t*), store(uint32_t*), set(uint32_t); operator^; operator+;
//   multiply(a, constant, high, low): the two halves of the products

namespace {

struct Block {
  Words w[4];
};

inline Block rounds(Block c, uint32_t key0, uint32_t key1) {
  for (int round = 0; round < 10; ++round) {
    Words a_high, a_low, b_high, b_low;
    multiply(c.w[0], 0xD2511F53u, a_high, a_low);
    multiply(c.w[2], 0xCD9E8D57u, b_high, b_low);
    c = {{b_high ^ c.w[1] ^ Words::set(key0), b_low, a_high ^ c.w[3] ^ Words::set(key1), a_low}};
    key0 += 0x9E3779B9u;
    key1 += 0xBB67AE85u;
  }
  return c;
}

}  // namespace

void philox_words(PhiloxState state, uint32_t stream, int64_t first, int64_t groups, uint32_t* out) {
  const auto key0 = static_cast<uint32_t>(state.seed), key1 = static_cast<uint32_t>(static_cast<uint64_t>(state.seed) >> 32);
  for (int64_t g = 0; g < groups; ++g, out += 64) {
    const uint64_t start = static_cast<uint64_t>(state.offset) + static_cast<uint64_t>(first + g) * 16;
    uint32_t low[16], high[16];
    for (uint32_t lane = 0; lane < 16; ++lane) {
      low[lane] = static_cast<uint32_t>(start + lane);
      high[lane] = static_cast<uint32_t>((start + lane) >> 32);
    }
    for (int lane = 0; lane < 16; lane += Words::kWidth) {
      const Block c = rounds({{Words::load(low + lane), Words::load(high + lane), Words::set(stream), Words::set(0)}}, key0, key1);
      for (int w = 0; w < 4; ++w) c.w[w].store(out + 16 * w + lane);
    }
  }
}
