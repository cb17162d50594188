#!/usr/bin/env bash
# Installs what is missing, builds, and runs real models on real data, eager against compiled.
source "$(dirname "$0")/setup.sh"
build tailor_demo
say "running the demo"
exec build/bin/tailor_demo examples/data "$@"
