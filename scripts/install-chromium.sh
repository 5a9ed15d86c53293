#!/usr/bin/env bash
# Prints the path of a Chromium or Chrome for the browser tests. When there is
# none, installs it through the system's package manager if that needs no
# password; otherwise says what to do and fails.
set -euo pipefail

find_browser() {
  if [ -n "${STEPSCOPE_CHROMIUM:-}" ]; then
    [ -x "$STEPSCOPE_CHROMIUM" ] && echo "$STEPSCOPE_CHROMIUM" && return 0
    echo "install-chromium: STEPSCOPE_CHROMIUM=$STEPSCOPE_CHROMIUM is not an executable file" >&2
    exit 1
  fi
  local name
  for name in chromium chromium-browser google-chrome-stable google-chrome chrome; do
    command -v "$name" && return 0
  done
  local app="/Applications/Google Chrome.app/Contents/MacOS/Google Chrome"
  [ -x "$app" ] && echo "$app" && return 0
  return 1
}

find_browser && exit 0

as_root=()
if [ "$(id -u)" != 0 ]; then
  if command -v sudo >/dev/null && sudo -n true 2>/dev/null; then
    as_root=(sudo -n)
  else
    as_root=(false)
  fi
fi

install_with() {
  echo "install-chromium: no Chromium found, installing: $*" >&2
  "${as_root[@]}" "$@" >&2
}

if command -v apt-get >/dev/null; then
  install_with apt-get update && install_with apt-get install -y --no-install-recommends chromium || true
elif command -v dnf >/dev/null; then
  install_with dnf install -y chromium || true
elif command -v apk >/dev/null; then
  install_with apk add chromium || true
elif command -v pacman >/dev/null; then
  install_with pacman -S --noconfirm chromium || true
fi

find_browser && exit 0
cat >&2 <<'MSG'
install-chromium: the browser tests need Chromium or Chrome, and none could be installed here.
  Debian, Ubuntu:  sudo apt-get install chromium
  Fedora:          sudo dnf install chromium
  macOS:           brew install --cask chromium
or set STEPSCOPE_CHROMIUM to the browser's path.
MSG
exit 1
