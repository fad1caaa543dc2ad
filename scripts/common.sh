# shellcheck shell=bash
# Sourced by the scripts beside it: goes to the root of the tree, so that they
# work from anywhere, and holds what they share.

cd "$(dirname "${BASH_SOURCE[0]}")/.." || exit

# section TEXT...: a headline with the time since the start.
section() {
  printf '\n== [%02d:%02d] %s\n' $((SECONDS / 60)) $((SECONDS % 60)) "$*"
}

# build PRESET [TARGET...]: configures and builds; all without a target.
build() {
  local preset=$1
  shift
  section "build ($preset)${1:+: $*}"
  cmake --preset "$preset" >/dev/null &&  # warnings and errors are on stderr
    NINJA_STATUS='[%f/%t %es] ' cmake --build "build/$preset" \
      --parallel "$(nproc)" --target "${@:-all}"
}
