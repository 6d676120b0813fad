#!/usr/bin/env bash
# A loop that knows nothing of irbench: it prints how long each call took.
# irbench run model.onnx --backends ort --cell "mine=docs/examples/loop.sh true {model}"
while true; do
    begin=$(date +%s%N)
    "$@" >/dev/null
    end=$(date +%s%N)
    echo "$((end - begin)) ns"
done
