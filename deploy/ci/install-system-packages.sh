#!/usr/bin/env bash
# Debian packages that the tests need beside Python: a browser with its driver and fonts for the
# screenshots, PostgreSQL's server binaries (the tests start a private server; the one that
# Debian may start is not touched), what vLLM links to, and systemd-analyze for the units. Repeating it is harmless and quick.
#
#   deploy/ci/install-system-packages.sh
set -euo pipefail

packages=(chromium chromium-driver postgresql fonts-dejavu libnuma1 systemd)

is_installed() { [ "$(dpkg-query -W -f '${db:Status-Status}' "$1" 2>/dev/null)" = installed ]; }

if ! command -v apt-get >/dev/null; then
  echo "system packages: skipped, no apt-get here; the tests need: ${packages[*]}" >&2
  exit 0
fi

# vLLM compiles kernels on its first start; the virtual environments need ensurepip.
command -v g++ >/dev/null || packages+=(g++)
"${PYTHON:-python3}" -c 'import ensurepip' 2>/dev/null || packages+=(python3-venv)

missing=()
for package in "${packages[@]}"; do
  is_installed "$package" || missing+=("$package")
done

if [ ${#missing[@]} -eq 0 ]; then
  echo "system packages: all there"
  exit 0
fi
if [ "$(id -u)" -ne 0 ]; then
  echo "system packages: skipped, only root can install them: sudo apt-get install ${missing[*]}" >&2
  exit 0
fi

log=$(mktemp)
trap 'rm -f "$log"' EXIT
echo "system packages: installing ${missing[*]}"
export DEBIAN_FRONTEND=noninteractive
if ! { apt-get update -qq && apt-get install -y -qq --no-install-recommends "${missing[@]}"; } \
  </dev/null >"$log" 2>&1; then
  cat "$log" >&2
  echo "system packages: installation failed, see above" >&2
  exit 1
fi
