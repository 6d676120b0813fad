"""Conditions of passes that may be dropped without harm: each with what takes its place."""

from __future__ import annotations

_ONCE_MORE = "what others read stays, and is computed twice"
_SCALAR = "nothing of no axes is cut, stacked or repeated"

HARMLESS: dict[str, dict[str, str]] = {
    "fuse_bias_gelu": {"_fits: is_read(x)": "ONNX Runtime writes the operator out in double precision"},
    "fuse_skip_layer_normalization": {
        "_fits: len(norm.outputs) == 1": "the normalisation stays for who reads its mean",
        "_fits: norm.attributes.get_int('axis', -1) in (-1, 2)": "the scale has one axis",
    },
    "einsum_to_matmul": {
        "_multiplies: value.dtype.name in _TYPES": "ONNX Runtime runs no Einsum of other types",
        "_size_of_each_index: len(sizes) != 2": "there are two terms",
        "_size_of_each_index: if (len(left), len(right)) != (len(sizes[0]), len(sizes[1]))": "ONNX asks for it",
        "_terms: not arrow": "nothing is behind it then, which is no term",
        "_terms: not comma": "nothing is behind it then, which is no term",
    },
    "restore_select": {
        "_wraps: not holds(zero, 0, index)": "with another number the original reads beyond the end",
        "_restore_folded: only_reader(value) is not node": "the product stays for its other readers",
        "_is_true: _is_true(node.inputs[0])": "constants are stretched when shapes are folded, before this pass",
    },
    "fuse_rms_normalization": {
        "_unshare: not chain": "nothing is copied then",
        "_unshare: len(factors) < 2": "nothing is copied then",
        "_unshare: inverse.outputs[0].is_graph_output()": _ONCE_MORE,
        "_unshare: if not all((_is_scaled(factor) and factor.graph is inverse.graph for factor in factors))": (
            _ONCE_MORE
        ),
        "_is_scaled: is_node(factor.outputs[0], 'Mul')": _ONCE_MORE,
        "_is_scaled: any((weight(value) is not None for value in factor.inputs))": _ONCE_MORE,
    },
    "fuse_grouped_queries": {
        "read_repetition: len(layout.sizes) != 4": "the operands of attention have four axes, which rule 1 asks for",
        "_along_new_axis: len(changed) != 1": "the layout fits no other axis; what stretches nothing is folded before",
        "_gathered: not sizes": _SCALAR,
        "_concatenated: not sizes": _SCALAR,
        "_repetition: groups.number < 2": "what is there once is its own repetition",
        "_group: ranks != [4, 4, 4]": "repeated heads have four axes, and so have queries beside them",
    },
    "split_grouped_heads": {
        "_read: only_reader(joined) is not second": _ONCE_MORE,
        "_read: only_reader(product_node.outputs[0]) is not split": _ONCE_MORE,
        "_is_alike: product(sizes) == product(others)": "nothing on the way changes the number of scores",
        "_above_softmax: not is_node(value, *_ON_SCORES)": "what is between both products stays as it is",
        "_is_read_by: only_reader(value) is node": "what is between both products stays as it is",
        "_product: if None in operands": "no constant reshapes the scores either then",
    },
    "fuse_group_normalization": {
        "_order: axes == [rank - 1]": "that is a LayerNormalization, which answers the same",
    },
    "lift_reshapes": {
        "add_before_cut: list(whole[-2:]) == list(target[-2:])": "leading axes that are cut may be added before too",
        "_stands: bool(node.outputs[0].uses() or node.outputs[0].is_graph_output())": "what nobody reads is removed",
        "_merge_later: any((sizes is None or len(sizes) != len(result) for sizes in merged))": "so are leading axes",
        "_leading: not is_node(value, 'Reshape')": "only sizes are read here, and products of them compared",
        "_add_before_split: only_reader(value) is not node": _ONCE_MORE,
        "_add_before_split: constant.size == 1": "one number is added as well",
        "_add_before_split: list(before[:-1]) != list(after[:len(before) - 1])": "the constant reaches no further",
        "_add_before_split: product(split) != before[-1]": "as many elements are left if the axes before are the same",
        "_scale_later: only_reader(value) is not node": _ONCE_MORE,
        "_scale_later: product_node.op_type == 'Div' and place == 0": "the operands keep their order",
    },
    "pack_attention": {
        "is_row: len(sizes) == 1": "the comparison behind it says so, but for scalars, which have no heads",
        "_pack: not heads": "ONNX asks for it where there are three axes",
        "_pack: node.attributes.get_int('kv_num_heads', 0) != heads": "keys would be narrower than queries",
        "_pack: len(node.outputs) != 1": _ONCE_MORE,
        "_pack: len(node.inputs) > 4": "ONNX Runtime takes keys so far where it gives those after, which are outputs",
        "_pack: node.attributes.get_float('scale', 1.0) <= 0": "ONNX Runtime runs no Attention of such a scale",
        "_is_addend: len(sizes) == 4": "the comparison behind it says so",
        "_is_addend: stretched": "ONNX asks for it",
        "_is_addend: sizes[2:] == whole[2:]": "ONNX Runtime stretches it on the CPU, other kernels do not",
        "_biases: if len({bias.size for bias in biases} | {(sizes_of(node.inputs[1]) or [ONE])[-1].number}) > 1": (
            "keys are as wide as queries, and the operator takes values of another width"
        ),
    },
    "loop_to_gru": {
        "_compute: any((attribute.type.name in ('GRAPH', 'GRAPHS') for attribute in node.attributes.values()))": (
            "what has bodies and only constants is folded before"
        ),
        "_compute: not feed": "what reads nothing is a constant, or random, and is no weight",
        "_counts: sizes_of(outer) == []": "a step of three axes does not fit the state",
        "_is_one_more: counter in node.inputs": "another counter and one are as many",
        "_linear: matrix.ndim != 2": "a product of three axes does not fit the state",
        "_is_complement: one.size == 1": "several ones are ones too, and others are no number",
        "reversed_source: not sizes": _SCALAR,
        "slice_bounds: len(numbers) < 3": "a Slice without axes is of the first ones, and has no third number",
        "slice_bounds: None in numbers": "a number that is not known is no bound that is looked for",
        "_take_state: not is_node(node.outputs[0], 'Slice')": "the inputs of nothing else are such bounds",
        "_run_backwards: _direction(node) != 'forward'": "each GRU is looked at once",
        "_run_backwards: None in outputs": "a Squeeze is all that reads what rule 1 wrote",
        "_gru_of: not is_node(source, 'GRU')": "rule 1 made nothing else",
        "_gru_of: axes.tolist() != [1 - output]": "rule 1 writes no other Squeeze",
        "_run_both_ways: not is_node(node.outputs[0], 'Concat')": "nothing else of two GRUs is as wide as both",
        "_fit_together: if None in pair": "rule 1 made nothing else",
        "_fit_together: all((sum((len(list(tensor.uses())) for tensor in gru.outputs)) == 1 for gru in "
        "(forward, reverse)))": _ONCE_MORE,
        "_fit_together: all((only_reader(tensor) is not None for gru in (forward, reverse) for tensor in gru.outputs "
        "if tensor.uses()))": _ONCE_MORE,
    },
    "slices_to_gather": {
        "_replace: len(node.inputs) < 2": "a Concat of one value is removed when shapes are folded",
        "_taken: product(sizes[axis + 1:]) == ONE": "single elements are gathered as well, only slower",
        "_taken: length > _LONGEST": "only the file grows",
        "_taken: part.axis == axis": "what has a bound that is no number is not known to be whole either",
    },
    "remove_redundant": {
        "_skip_cast: target in ('', 'STRING')": "ONNX Runtime writes the same digits for a number of any type",
    },
    "fuse_rotary_embedding": {
        "cut: not whole": _SCALAR,
        "cut: not own": _SCALAR,
        "_slice: step < 1": "no part that is looked for has such a step",
        "_slice: start < 0": "no part that is looked for starts there",
        "_slice: end < 0": "no part that is looked for ends there",
        "_split: node.attributes.get_int('axis', 0) % rank != rank - 1": "the parts would be as wide as the whole",
        "_split: None in lengths": "where one part has a known length, all have",
        "_unbound: list(sizes[:-2]) != list(before[:-1])": "axes of size one may stand elsewhere, others do not fit",
        "_taken: not sizes": _SCALAR,
        "_taken: sizes[axis] != Size(len(split.outputs))": "an axis of pairs has two elements",
        "_taken: list(sizes_of(value) or ()) != left": "only axes of size one could be other ones",
        "_own: not length": _SCALAR,
        "_own: length % 2": "both parts are equally long",
        "_pairs: sizes[-1].number % 2": "both parts are equally long",
        "_pairs: sizes_of(first) != sizes_of(second)": "both are compared with halves of one axis",
        "_pairs: if list(inner) != [*sizes[:-1], *stacks.get(axis, [])]": "sizes of the result are compared",
        "half: not sizes": _SCALAR,
        "half: sizes[-1].number % 2": "the width of what is rotated is even",
        "_with_number: len(other.shape) > len(sizes)": "the result would have as many axes, the table fewer",
        "_reshaped: not before_sizes": _SCALAR,
        "_reshaped: product(before_sizes) != product([*sizes, Size(2)])": "a Reshape keeps the number of elements",
        "_gathered: rank < 2": "rows of known width are of a table of known axes, and one axis is the last one",
        "_axis_of_length: len(aligned) > len(sizes)": "the sum would have more axes than what is rotated",
        "_axis_of_length: aligned[-1].number not in (width, width // 2)": "half of no other table is computed",
        "_length_first: not sizes": _SCALAR,
    },
    "fuse_attention": {
        "read_attention: if only_reader(value) is not reader and _guarded(reader) is not value": _ONCE_MORE,
        "_guarded: node.op_type != 'Where'": "nothing else of the pattern reads a condition",
        "_guarded: node.domain": "the way up leads through no other domain",
        "_guarded: test.inputs[0] is not weights": "scores that are not a number make weights that are none",
        "_where: not _keeps_size(scores, node)": "weights that are stretched are larger than the product",
        "_keeps_size: sizes_of(scores) == sizes_of(node.outputs[0])": "as above",
        "is_maskable: if any((_placed(tensor, scores) is None for tensor in met))": "no mask is built then either",
        "build_mask: None in addends": "what is placed can be reshaped and stretched, but to sizes that no input has",
        "build_row_condition: None in addends": "the mask is built before, of the same tensors",
        "has_zero_rows: bool(masks)": "no condition on rows is built of nothing",
        "has_zero_rows: not is_finite": "of every row something is kept then",
        "_placed: len(view) < 3": "scores of two axes have one head and one sample",
        "_placed: len(own_sizes) > len(view)": "the result of an operation has as many axes as its operands",
        "_placed: if any((size not in (ONE, whole) for size, whole in zip(sizes, view, strict=True)))": (
            "ONNX Runtime stretches queries when it runs, and a number for all keys changes no weight"
        ),
        "_placed: if whole != list(scores[-2:])": "nothing on the way changes the last two axes",
        "join_heads: len(node.outputs) not in (1, 1 + _CACHES)": "all outputs are replaced, however many there are",
        "join_heads: heads[_KEYS] != heads[_VALUES]": "ONNX asks for it",
        "join_heads: heads[_QUERIES] % heads[_KEYS]": "ONNX asks for it",
        "_before_split: len(parts) != 4": "so has the order of axes",
        "_after: not is_node(last.outputs[0], 'Reshape')": "nothing else joins axes, or a Squeeze of one head",
        "_after: last.inputs[0] is not turned": "the target of a Reshape is an integer",
        "_after: reader.inputs[1] is not attended": "the other operand is a constant",
        "_drops_heads: list(after) == [before[0], *before[2:]]": "what has other axes is reshaped to them",
        "_fuse: not dtype.is_floating_point()": "no operation of the pattern takes anything else",
        "drop_key_bias: only_reader(biased) is not node": _ONCE_MORE,
        "_without_bias: not np.isfinite(bias).all()": "no answer of the original is a number then",
    },
}
"""By pass: function and condition, and why nothing goes wrong without it."""
