#!/usr/bin/env bash
# Every C++ file is as clang-format 14 writes it. usage: format.sh SOURCE_FOLDER CLANG_FORMAT
set -euo pipefail
cd "$1"
bad=$(find runtime ir kernels guards jit frontend tools bench tests examples \( -name '*.h' -o -name '*.cpp' \) -print0 |
  xargs -0 -P 2 -n 32 "$2" --dry-run -Werror 2>&1 | grep -oE '^[^ ]+:[0-9]+:[0-9]+: error' | cut -d: -f1 | sort -u) || true
[ -z "$bad" ] || { echo "not formatted (clang-format -i fixes it):"; echo "$bad"; exit 1; }
