#!/usr/bin/env bash
# One library holds kernels for several instruction sets. An inline function that their objects share with each other or with the rest
# would be linked once, for all: perhaps the copy that needs AVX-512. So they share no weak symbol.
# usage: weak_symbols.sh BUILD_FOLDER
set -euo pipefail
cd "$1"
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

# (clang's reference to the personality of exceptions is data, the same in all.)
weak() { xargs nm --defined-only 2>/dev/null | awk 'NF == 3 && $2 ~ /[WVu]/ && $3 != "DW.ref.__gxx_personality_v0" {print $3}' | sort -u; }

find runtime ir kernels guards jit frontend -name '*.cpp.o' | grep -vE '_(sse2|avx2|avx512)\.cpp\.o$' | weak > "$scratch/rest"
levels=(sse2 avx2 avx512)
for level in "${levels[@]}"; do
  find kernels jit -name "*_$level.cpp.o" | weak > "$scratch/$level"
  [ -s "$scratch/$level" ] || { echo "no objects for $level"; exit 1; }
done
failed=0
check() {
  shared=$(comm -12 "$scratch/$1" "$scratch/$2" | c++filt)
  if [ -n "$shared" ]; then
    echo "weak symbols in objects for $1 and for $2:"
    echo "$shared"
    failed=1
  fi
}
for level in "${levels[@]}"; do check "$level" rest; done
check sse2 avx2
check sse2 avx512
check avx2 avx512
[ $failed = 0 ] && echo "no weak symbol is shared: $(cat "$scratch"/{sse2,avx2,avx512} | wc -l) looked at"
exit $failed
