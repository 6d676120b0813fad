"""The class of work of PyTorch's operators, by their names without namespace and overload."""

from __future__ import annotations

from collections.abc import Mapping

from irbench.onnx.operator_classes import OperatorClass

_KINDS: Mapping[OperatorClass, str] = {
    OperatorClass.MATRIX: """
        _convolution_pointwise _linear_pointwise _mkl_linear _scaled_dot_product_flash_attention_for_cpu addbmm addmm
        baddbmm bilinear bmm conv1d conv2d conv3d conv_transpose1d conv_transpose2d conv_transpose3d convolution dot
        einsum linear matmul mkldnn_convolution mm mv scaled_dot_product_attention
    """,
    OperatorClass.RECURRENT: "gru gru_cell lstm lstm_cell mkldnn_rnn_layer rnn_relu rnn_tanh",
    OperatorClass.NORMALISATION: """
        _log_softmax _softmax batch_norm group_norm instance_norm layer_norm log_softmax native_batch_norm
        native_group_norm native_layer_norm rms_norm softmax
    """,
    OperatorClass.ELEMENTWISE: """
        abs add add_ bitwise_and bitwise_not bitwise_or ceil celu clamp clamp_min cos cumsum div elu eq erf exp floor
        floor_divide ge gelu glu gt hardsigmoid hardswish hardtanh le leaky_relu log logical_and logical_not logical_or
        lt masked_fill maximum minimum mish mul mul_ ne neg pow prelu reciprocal relu relu6 relu_ remainder round rsqrt
        rsub sigmoid sign silu sin softplus sqrt square sub tanh where
    """,
    OperatorClass.REDUCTION: """
        adaptive_avg_pool1d adaptive_avg_pool2d adaptive_max_pool2d all amax amin any argmax argmin avg_pool1d
        avg_pool2d avg_pool3d linalg_vector_norm max max_pool1d max_pool2d max_pool3d mean min prod std sum var
    """,
    OperatorClass.MOVEMENT: """
        _to_copy _unsafe_view alias arange as_strided broadcast_to cat chunk clone constant_pad_nd contiguous copy_
        detach embedding empty expand expand_as fill_ flatten flip full full_like gather index index_put index_select
        lift_fresh_copy movedim new_ones new_zeros ones ones_like pad permute pixel_shuffle repeat repeat_interleave
        reshape roll scatter select slice slice_scatter split split_with_sizes squeeze stack t tile to transpose tril
        triu unbind unflatten unsqueeze upsample_bicubic2d upsample_bilinear2d upsample_nearest2d view zeros zeros_like
    """,
    OperatorClass.CONTROL_FLOW: "cond while_loop",
    OperatorClass.OTHER: "bernoulli nonzero rand randn sort topk unique_dim",
}

OPERATOR_KINDS: Mapping[str, str] = {
    kind: operators.value for operators, kinds in _KINDS.items() for kind in kinds.split()
}
"""The class of each by its name; kernels that inductor generated are taken for elementwise."""
