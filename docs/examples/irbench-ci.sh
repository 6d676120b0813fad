#!/usr/bin/env bash
# irbench-ci.sh BASE.onnx NEW.onnx: fail if NEW is slower than BASE on this machine, and both were measured well enough to tell.
#
# Exit codes are those of `irbench compare`: 0 no regression, 1 a regression that was found twice, 6 not judged.
# irbench.md is the report, and irbench-runs.tar.gz has both runs with every sample.
set -uo pipefail

base=$1 new=$2
budget=${IRBENCH_BUDGET:-3m}

irbench run "$base" --backends ort --budget "$budget" --name before || exit
irbench run "$new" --backends ort --budget "$budget" --name after || exit
irbench results export before after -o irbench-runs.tar.gz --force || exit

irbench compare before after --fail-on 'p50>5%' --fail-on 'peak_memory>20%' --confirm --format md -o irbench.md
code=$?
[ -z "${GITHUB_STEP_SUMMARY:-}" ] || cat irbench.md >> "$GITHUB_STEP_SUMMARY"

case $code in
    0) echo "no regression was found" ;;
    1) echo "::error::the new model is slower, and was slower again when both were measured side by side" ;;
    6) echo "::error::whether it is slower cannot be judged: too few launches, or a busy machine. Run the job again, or raise IRBENCH_BUDGET" ;;
esac
exit "$code"
