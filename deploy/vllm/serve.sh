#!/usr/bin/env bash
# vLLM with the H-MAS scheduler. Everything after the model goes to `vllm serve` unchanged.
#
#   deploy/vllm/serve.sh Qwen/Qwen3-8B --port 8000
#
# The engine listens for directives in $HMAS_RUNTIME_DIR (default: $XDG_RUNTIME_DIR/hmas, else
# /tmp/hmas-<uid>) under $HMAS_ENGINE_ID (default: engine0). Without a daemon it runs exactly as
# plain vLLM does.
set -euo pipefail

if [ $# -lt 1 ]; then
  echo "usage: $0 MODEL [vllm serve options]" >&2
  exit 2
fi
export HMAS_ENGINE_ID=${HMAS_ENGINE_ID:-engine0}
exec "${VLLM:-vllm}" serve "$@" \
  --scheduler-cls hmas.engine.vllm_scheduler.PolymorphicScheduler
