# Sourced by demo.sh and test.sh: installs what is missing (Debian 12, as root), configures and builds into build/.

set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

say() { printf '\033[1m== %s\033[0m\n' "$*"; }

packages=(g++ cmake ninja-build ccache pkg-config llvm-19-dev libspdlog-dev libgtest-dev libbenchmark-dev
          libcli11-dev nlohmann-json3-dev libboost1.81-dev zlib1g-dev libzstd-dev)

install_packages() {
  local missing=()
  for package in "${packages[@]}"; do
    [ "$(dpkg-query -W -f='${db:Status-Status}' "$package" 2>/dev/null)" = installed ] || missing+=("$package")
  done
  [ ${#missing[@]} -gt 0 ] || return 0
  if [ "$(id -u)" != 0 ]; then
    say "these packages are missing and installing them needs root: ${missing[*]}"
    say "as root: apt-get install ${missing[*]}"
    exit 1
  fi
  say "installing ${missing[*]}"
  export DEBIAN_FRONTEND=noninteractive
  apt-get update -qq
  apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null
}

build() {  # build TARGET...
  install_packages
  if [ ! -f build/build.ninja ]; then
    say "configuring (release) into build/"
    cmake --preset release -Wno-dev >build-configure.log 2>&1 || { cat build-configure.log; exit 1; }
    rm -f build-configure.log
  fi
  say "building $*"
  if [ -t 1 ]; then ninja -C build "$@"; else ninja -C build --quiet "$@"; fi
}
