#!/usr/bin/env bash
# A command that answers requests: after its greeting it calls only when it is asked to.
# irbench run model.onnx --backends ort --cell "mine=docs/examples/requests.sh true {model}"
echo '{"irbench": 1}'
while read -r verb count; do
    [ "$verb" = run ] || exit 1
    for ((call = 0; call < count; call++)); do
        begin=$(date +%s%N)
        "$@" >/dev/null
        end=$(date +%s%N)
        echo "$((end - begin)) ns"
    done
done
