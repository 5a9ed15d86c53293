package kineto

import (
	"hash/fnv"
	"strconv"
	"strings"
)

// node is one Python call of a tree, with its depth below the tree's root. A name that ends in "at 0x" is a method of
// some object; its variants have the objects' addresses.
type node struct {
	depth    int
	name     string
	variants []string
}

// tree is a call pattern in pre-order.
type tree []node

// maxTree bounds a tree's length.
const maxTree = 12

// forest is the call patterns of one part of the engine.
type forest []tree

// roots are the frames around everything on the engine's thread, outermost first.
var roots = []string{
	"threading.py(1032): _bootstrap", "threading.py(1075): _bootstrap_inner", "threading.py(1012): run",
	"deepinfer/engine/engine_core.py(611): run_busy_loop",
}

// loggerRoots are the frames of the thread that writes the engine's log.
var loggerRoots = []string{
	"threading.py(1032): _bootstrap", "threading.py(1075): _bootstrap_inner",
	"deepinfer/stats/log_thread.py(58): run", "threading.py(359): wait", "<built-in method acquire of _thread.lock object at 0x7f41c81ff0c0>",
}

const stepFrame = "deepinfer/engine/engine_core.py(342): step"

var scheduling = grow(forest{
	{{depth: 0, name: "deepinfer/core/scheduler.py(418): _collect_running"}, {depth: 1, name: "deepinfer/core/sequence.py(233): get_num_new_tokens"}, {depth: 2, name: "<built-in function len>"}, {depth: 1, name: "deepinfer/core/sequence.py(241): is_finished"}, {depth: 2, name: "enum.py(1129): __hash__"}, {depth: 3, name: "<built-in function hash>"}, {depth: 1, name: "<built-in method append of list object at 0x"}},
	{{depth: 0, name: "deepinfer/core/block_manager.py(211): can_append_slots"}, {depth: 1, name: "deepinfer/core/block_manager.py(187): num_free_blocks"}, {depth: 2, name: "<built-in function len>"}, {depth: 1, name: "<built-in function max>"}, {depth: 1, name: "deepinfer/core/block_table.py(94): num_blocks"}},
	{{depth: 0, name: "deepinfer/core/prefix_cache.py(156): touch"}, {depth: 1, name: "<built-in method get of dict object at 0x"}, {depth: 1, name: "<built-in method move_to_end of collections.OrderedDict object at 0x"}, {depth: 1, name: "<built-in function monotonic>"}},
})

var preparing = grow(forest{
	{{depth: 0, name: "deepinfer/worker/input_batch.py(302): _append_sequence"}, {depth: 1, name: "deepinfer/core/sequence.py(167): token_ids_view"}, {depth: 2, name: "<built-in method __getitem__ of numpy.ndarray object at 0x"}, {depth: 1, name: "deepinfer/worker/block_tables.py(61): row"}, {depth: 2, name: "<built-in function len>"}, {depth: 2, name: "<built-in method copy of numpy.ndarray object at 0x"}, {depth: 1, name: "<built-in method extend of list object at 0x"}},
	{{depth: 0, name: "deepinfer/worker/sampling_metadata.py(88): update"}, {depth: 1, name: "dataclasses.py(1557): replace"}, {depth: 2, name: "<built-in function getattr>"}, {depth: 2, name: "<built-in function hasattr>"}, {depth: 2, name: "<built-in method items of dict object at 0x"}, {depth: 3, name: "<built-in function isinstance>"}},
	{{depth: 0, name: "torch/_tensor.py(1109): __len__"}, {depth: 1, name: "<built-in method dim of Tensor object at 0x"}, {depth: 1, name: "<built-in function has_torch_function_unary>"}},
})

var forwarding = grow(forest{
	{{depth: 0, name: "torch/nn/modules/module.py(1747): _call_impl"}, {depth: 1, name: "<built-in method _get_tracing_state of PyCapsule object at 0x"}, {depth: 1, name: "deepinfer/models/moe_decoder.py(571): forward"}, {depth: 2, name: "torch/nn/modules/module.py(1918): __getattr__"}, {depth: 3, name: "<built-in method get of dict object at 0x"}, {depth: 2, name: "torch/_ops.py(1158): __call__"}, {depth: 3, name: "<built-in method stride of Tensor object at 0x"}, {depth: 2, name: "<built-in function is_contiguous>"}},
	{{depth: 0, name: "deepinfer/distributed/parallel_state.py(122): get_context_parallel_group"}, {depth: 1, name: "<built-in function getattr>"}, {depth: 1, name: "deepinfer/distributed/parallel_state.py(97): world_size"}},
	{{depth: 0, name: "contextlib.py(299): helper"}, {depth: 1, name: "contextlib.py(104): __init__"}, {depth: 1, name: "contextlib.py(132): __enter__"}, {depth: 2, name: "<built-in function next>"}, {depth: 3, name: "deepinfer/forward_context.py(84): set_forward_context"}, {depth: 1, name: "contextlib.py(141): __exit__"}, {depth: 2, name: "<built-in function next>"}},
})

var finishing = grow(forest{
	{{depth: 0, name: "deepinfer/engine/output_processor.py(204): _append_tokens"}, {depth: 1, name: "deepinfer/core/sequence.py(305): append_token_ids"}, {depth: 2, name: "<built-in method extend of array.array object at 0x"}, {depth: 2, name: "<built-in function len>"}, {depth: 1, name: "deepinfer/engine/stop_checker.py(47): maybe_stop"}, {depth: 2, name: "<built-in method intersection of frozenset object at 0x"}, {depth: 2, name: "<built-in function min>"}},
	{{depth: 0, name: "deepinfer/engine/detokenizer.py(133): decode_incrementally"}, {depth: 1, name: "tokenizers/decoders.py(71): step"}, {depth: 2, name: "<built-in method step of DecodeStream object at 0x"}, {depth: 1, name: "<built-in method join of str object at 0x"}, {depth: 1, name: "<built-in method endswith of str object at 0x"}},
	{{depth: 0, name: "deepinfer/outputs.py(118): from_sequence"}, {depth: 1, name: "deepinfer/outputs.py(64): __init__"}, {depth: 2, name: "<built-in function isinstance>"}, {depth: 1, name: "<built-in method append of list object at 0x"}, {depth: 1, name: "uuid.py(288): __str__"}},
})

var idling = grow(forest{
	{{depth: 0, name: "deepinfer/engine/engine_core.py(655): _has_work"}, {depth: 1, name: "queue.py(97): empty"}, {depth: 2, name: "<built-in method __enter__ of _thread.lock object at 0x"}, {depth: 2, name: "<built-in function len>"}},
})

// addresses is how many objects a name with an address stands for: a power of two.
const addresses = 64

// grow fills in the variants of every name of a forest.
func grow(f forest) forest {
	for _, t := range f {
		for i := range t {
			n := &t[i]
			if !strings.HasSuffix(n.name, " at 0x") {
				continue
			}
			h := fnv.New32a()
			h.Write([]byte(n.name))
			base := 0x7f3c_0000_0000 + int64(h.Sum32())>>8<<8
			for k := range int64(addresses) {
				n.variants = append(n.variants, n.name+strconv.FormatInt(base+k*0x2f40, 16)+">")
			}
		}
	}
	return f
}
