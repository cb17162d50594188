// Masks as vectors of all-ones and all-zeros lanes, for levels without mask registers. Included by simd.h inside its anonymous namespace.

enum class Relation { Eq, Ne, Lt, Le, Gt, Ge };

template <Relation R, class T>
TAILOR_INLINE MaskOf<T> compare(Vec<T> x, Vec<T> y) {
  if constexpr (R == Relation::Eq) return (MaskOf<T>)(x == y);
  if constexpr (R == Relation::Ne) return (MaskOf<T>)(x != y);
  if constexpr (R == Relation::Lt) return (MaskOf<T>)(x < y);
  if constexpr (R == Relation::Le) return (MaskOf<T>)(x <= y);
  if constexpr (R == Relation::Gt) return (MaskOf<T>)(x > y);
  if constexpr (R == Relation::Ge) return (MaskOf<T>)(x >= y);
}
template <class T>
TAILOR_INLINE MaskOf<T> mask_and(MaskOf<T> x, MaskOf<T> y) {
  return x & y;
}
template <class T>
TAILOR_INLINE MaskOf<T> mask_or(MaskOf<T> x, MaskOf<T> y) {
  return x | y;
}
template <class T>
TAILOR_INLINE MaskOf<T> mask_xor(MaskOf<T> x, MaskOf<T> y) {
  return x ^ y;
}
template <class T>
TAILOR_INLINE MaskOf<T> mask_not(MaskOf<T> x) {
  return ~x;
}
template <class T>
TAILOR_INLINE MaskOf<T> mask_lit(bool x) {
  return MaskOf<T>{} - static_cast<SignedOf<T>>(x);
}

template <class T>
TAILOR_INLINE MaskOf<T> mask_from_bytes(const Bytes<T>& bytes) {
  if constexpr (sizeof(T) == 1) {
    return (MaskOf<T>)(bytes != 0);
  } else {
    return (MaskOf<T>)(__builtin_convertvector(bytes, Vec<SignedOf<T>>) != 0);
  }
}
template <class T>
TAILOR_INLINE Bytes<T> mask_to_bytes(MaskOf<T> m) {
  if constexpr (sizeof(T) == 1)
    return (Bytes<T>)m & (Bytes<T>{} + 1);
  else
    return __builtin_convertvector(m, Bytes<T>) & (Bytes<T>{} + 1);
}

/// The first `bytes` (1 to Size - 1) of a vector; the others are zero, and are not touched.
template <class V>
TAILOR_INLINE V load_part(const char* p, int64_t bytes) {
  alignas(sizeof(V)) char buffer[sizeof(V)] = {};
  char* to = buffer;
  if constexpr (sizeof(V) > 16) {
    if (bytes & 16) __builtin_memcpy(to, p, 16), to += 16, p += 16;
  }
  if constexpr (sizeof(V) > 8) {
    if (bytes & 8) __builtin_memcpy(to, p, 8), to += 8, p += 8;
  }
  if constexpr (sizeof(V) > 4) {
    if (bytes & 4) __builtin_memcpy(to, p, 4), to += 4, p += 4;
  }
  if constexpr (sizeof(V) > 2) {
    if (bytes & 2) __builtin_memcpy(to, p, 2), to += 2, p += 2;
  }
  if (bytes & 1) *to = *p;
  V v;
  __builtin_memcpy(&v, buffer, sizeof(V));
  return v;
}
template <class V>
TAILOR_INLINE void store_part(char* p, V v, int64_t bytes) {
  alignas(sizeof(V)) char buffer[sizeof(V)];
  __builtin_memcpy(buffer, &v, sizeof(V));
  const char* from = buffer;
  if constexpr (sizeof(V) > 16) {
    if (bytes & 16) __builtin_memcpy(p, from, 16), from += 16, p += 16;
  }
  if constexpr (sizeof(V) > 8) {
    if (bytes & 8) __builtin_memcpy(p, from, 8), from += 8, p += 8;
  }
  if constexpr (sizeof(V) > 4) {
    if (bytes & 4) __builtin_memcpy(p, from, 4), from += 4, p += 4;
  }
  if constexpr (sizeof(V) > 2) {
    if (bytes & 2) __builtin_memcpy(p, from, 2), from += 2, p += 2;
  }
  if (bytes & 1) *p = *from;
}
