"""Python that uses TensorFlow and XLA without irbench, for exactly the settings of a row."""

from __future__ import annotations

from collections.abc import Iterator

from irbench.spec import Load
from irbench.spi import Usage, UsedModel
from irbench_tf import precision
from irbench_tf.compiler import FUNCTIONAL, plan_threads, rewriting
from irbench_tf.options import TensorFlowOptions, environment_for

_LOAD = """\
def load(path):
    \"\"\"Return a function of arrays in the order of the inputs, which runs the graph in a session.\"\"\"
    graph_def = tf.compat.v1.GraphDef.FromString(Path(path).read_bytes())
    shapes = {shapes!r}
{graph}
    config = tf.compat.v1.ConfigProto(
        intra_op_parallelism_threads={intra_op}, inter_op_parallelism_threads={inter_op}
    )
{config}
    session = tf.compat.v1.Session(graph=graph, config=config)
    call = config_pb2.CallableOptions(feed={feeds!r}, fetch={fetches!r})
{call}
    # Session.make_callable and Session.run look every name up again in each call
    return session._make_callable_from_options(call)"""

_LOWER = """\
    loops = {functional!r}
    for nodes in (graph_def.node, *(function.node_def for function in graph_def.library.function)):
        for node in nodes:
            if node.op in loops:  # its body is spread out among the other operations, as tf.function does
                node.attr["_lower_using_switch_merge"].b = True"""

_GRAPH = """\
    for node in graph_def.node:
        if node.name in shapes:  # sizes that the file leaves dynamic
            node.attr["shape"].shape.CopyFrom(tf.TensorShape(shapes[node.name]).as_proto())
    with tf.Graph().as_default() as graph:
        tf.import_graph_def(graph_def, name="")"""

_COMPILED_GRAPH = """\
    names, outputs = {inputs!r}, {outputs!r}
    for node in [node for node in graph_def.node if node.name in shapes]:
        graph_def.node.remove(node)  # XLA compiles no placeholders: the function has arguments in their place

    @tf.function(jit_compile=True, autograph=False)
    def compiled(*inputs):
        given = {{f"{{name}}:0": value for name, value in zip(names, inputs)}}
        return tf.import_graph_def(graph_def, given, [f"{{name}}:0" for name in outputs], name="")

    with tf.Graph().as_default() as graph:
        inputs = [
            tf.compat.v1.placeholder(dtype, shapes[name], name) for name, dtype in zip(names, {dtypes!r})
        ]
        for name, value in zip(outputs, compiled(*inputs)):
            tf.identity(value, name)"""

_CALLER = """\
class Caller:
    \"\"\"Runs one inference at a time. Callers of one graph may run side by side, each in a thread of its own.\"\"\"

    def __init__(self, call):
        self.call = call

    def stage(self, inputs):
        self.arrays = [inputs[name] for name in {names!r}]

    def run(self):
        self.outputs = self.call(*self.arrays)

    def fetch(self):
        return self.outputs"""


def usage(model: UsedModel, load: Load, device: str, options: TensorFlowOptions, *, jit: bool) -> Usage:
    """Return Python that loads a frozen graph, has XLA compile it with ``jit``, and runs it."""
    names = [spec.name for spec in model.inputs]
    plan = plan_threads(load, options, {})
    shapes = {spec.name: [size if isinstance(size, int) else None for size in spec.shape] for spec in model.inputs}
    fetched = [spec.name for spec in model.outputs]
    return Usage(
        imports="from pathlib import Path\n\nimport tensorflow as tf\nfrom tensorflow.core.protobuf import config_pb2",
        load=_LOAD.format(
            shapes=shapes,
            graph=_graph(model, options, jit=jit),
            intra_op=plan.intra_op,
            inter_op=plan.inter_op,
            config="\n".join(f"    {line}" for line in _config(load, options, device, jit=jit)),
            feeds=[f"{name}:0" for name in names],
            fetches=[f"{name}:0" for name in fetched],
            call="    call.run_options.inter_op_thread_pool = -1  # each inference runs on its caller's thread"
            if plan.on_caller
            else "    # inferences run on threads of the inter-op pool",
        ),
        caller=_CALLER.format(names=names),
        environment={
            **{name: text for name, text in environment_for(load, options, device).items() if name != "KERAS_HOME"},
            "TF_CPP_MIN_LOG_LEVEL": "1",
        },
    )


def _graph(model: UsedModel, options: TensorFlowOptions, *, jit: bool) -> str:
    if jit:
        return _COMPILED_GRAPH.format(
            inputs=[spec.name for spec in model.inputs],
            outputs=[spec.name for spec in model.outputs],
            dtypes=[spec.dtype for spec in model.inputs],
        )
    lower = [_LOWER.format(functional=tuple(sorted(FUNCTIONAL)))] if options.loops == "lowered" else []
    return "\n".join((*lower, _GRAPH))


def _config(load: Load, options: TensorFlowOptions, device: str, *, jit: bool) -> Iterator[str]:
    """Yield the lines that choose which of TensorFlow's rewriters run, and how a GPU is used."""
    if device != "cpu":
        yield "config.gpu_options.allow_growth = True  # takes the memory of the GPU as it is needed"
        if load.precision != "native":
            yield "tf.config.experimental.enable_tensor_float_32_execution(False)"
    rewriters = rewriting(options, device, jit=jit)
    narrowing = precision.rewriters(load.precision)
    yield "rewriting = config.graph_options.rewrite_options"
    yield "rewriting.min_graph_nodes = -1  # small graphs as well"
    if rewriters == "off":
        yield "rewriting.disable_meta_optimizer = True"
    elif rewriters == "remap":
        yield f"rewriting.optimizers.extend({(*narrowing, 'remap')!r})  # the export did all other rewriting"
        yield "rewriting.meta_optimizer_iterations = rewriting.ONE"
    elif narrowing:
        yield f"rewriting.{narrowing[0]} = rewriting.ON"
