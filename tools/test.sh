#!/usr/bin/env bash
# Installs what is missing, builds everything and runs all tests. Arguments go to ctest: tools/test.sh -R follow
source "$(dirname "$0")/setup.sh"
build all
say "running the tests"
exec ctest --test-dir build --output-on-failure -j "$(nproc)" "$@"
