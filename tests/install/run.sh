#!/usr/bin/env bash
# Installs the build into an empty folder, builds the outside project against it by CMake and by pkg-config, and runs both;
# likewise the first program of README.md, as it stands there.
# usage: run.sh BUILD_FOLDER SOURCE_FOLDER CXX
set -euo pipefail
build=$1 source=$2 cxx=$3
root=$(mktemp -d)
trap 'rm -rf "$root"' EXIT
cmake --install "$build" --prefix "$root/prefix" >/dev/null
awk '/^```cpp$/ { inside = 1; next } /^```$/ && inside { exit } inside' "$source/README.md" >"$root/readme.cpp"
cmake -S "$source/tests/install/outside" -B "$root/outside" -DREADME_PROGRAM="$root/readme.cpp" -DCMAKE_PREFIX_PATH="$root/prefix" -DCMAKE_CXX_COMPILER="$cxx" -DCMAKE_BUILD_TYPE=Release >/dev/null
cmake --build "$root/outside" -j2
"$root/outside/native"
"$root/outside/ported"
"$root/outside/readme" | grep "^layer (readme.cpp:[0-9]*): hit: followed cached code$" >/dev/null
mv "$root/prefix" "$root/moved"  # an installed tree may be moved
export PKG_CONFIG_PATH=$(dirname "$(find "$root/moved" -name tailor.pc)")
for by in native:tailor ported:tailor-torch; do
  package=${by#*:}
  "$cxx" ${CXXFLAGS:-} "$source/tests/install/outside/${by%:*}.cpp" $(pkg-config --cflags --libs "$package") -Wl,-rpath,"$(pkg-config --variable=libdir "$package")" -o "$root/by_pkg_config"
  "$root/by_pkg_config"
done
"$root/moved/bin/tailor" --help >/dev/null
