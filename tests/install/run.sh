#!/usr/bin/env bash
# Installs the build into an empty folder, builds the outside project against it by CMake and by pkg-config, and runs both.
# usage: run.sh BUILD_FOLDER SOURCE_FOLDER CXX
set -euo pipefail
build=$1 source=$2 cxx=$3
root=$(mktemp -d)
trap 'rm -rf "$root"' EXIT
cmake --install "$build" --prefix "$root/prefix" >/dev/null
cmake -S "$source/tests/install/outside" -B "$root/outside" -DCMAKE_PREFIX_PATH="$root/prefix" -DCMAKE_CXX_COMPILER="$cxx" -DCMAKE_BUILD_TYPE=Release >/dev/null
cmake --build "$root/outside" -j2
"$root/outside/native"
"$root/outside/ported"
export PKG_CONFIG_PATH=$(dirname "$(find "$root/prefix" -name tailor.pc)")
"$cxx" ${CXXFLAGS:-} "$source/tests/install/outside/native.cpp" $(pkg-config --define-variable=prefix="$root/prefix" --cflags --libs tailor) -Wl,-rpath,"$root/prefix/lib" -o "$root/by_pkg_config"
"$root/by_pkg_config"
"$root/prefix/bin/tailor" --help >/dev/null
