#!/usr/bin/env bash
# irbench-ci.sh BASE.onnx NEW.onnx: fail if NEW is slower than BASE on this machine, and where that could not be decided.
#
# Exit codes are those of `irbench gate`: 0 no regression, 1 a regression, 6 not decided.
# irbench.md is the report, and irbench-run.tar.gz has the run with every sample.
set -uo pipefail

base=$1 new=$2
budget=${IRBENCH_BUDGET:-5m}

irbench gate "$base" "$new" --backends ort --limit 5% --fail-on 'peak_memory>20%' --budget "$budget" --name gate --format md -o irbench.md
code=$?
irbench results export gate -o irbench-run.tar.gz --force || true
[ -z "${GITHUB_STEP_SUMMARY:-}" ] || cat irbench.md >> "$GITHUB_STEP_SUMMARY"

case $code in
    0) echo "no regression" ;;
    1) echo "::error::the new model is slower, or needs more memory" ;;
    6) echo "::error::whether it is slower was not decided. Run the job again, or raise IRBENCH_BUDGET" ;;
esac
exit "$code"
