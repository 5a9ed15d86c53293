/**
 * Running the reader's code in: a browser runs WebAssembly as compiled in haste until it has seen which
 * functions matter. A made-up trace shows it before the first file comes.
 */

const operators = ["aten::linear", "aten::empty_strided", "aten::_to_copy", "aten::copy_", "aten::mm", "aten::add_", "aten::view"];
const kernels = ["void at::native::vectorized_elementwise_kernel<4, at::native::FillFunctor<float>>(int)", "sm90_xmma_gemm_bf16bf16_bf16f32_tn", "ncclDevKernel_AllReduce_Sum_bf16_RING_LL"];

/** A trace of about so many bytes, laid out as Kineto does it: operators, Python frames, launches, kernels, arrows, steps. */
export function warmText(bytes: number): string {
  const parts = ['{\n  "schemaVersion": 1,\n  "traceEvents": [\n'];
  let size = 0;
  const add = (text: string) => {
    parts.push(text);
    size += text.length;
  };
  for (let i = 0; size < bytes; i++) {
    const ts = (k: number) => `${3676599900000 + i * 40 + k}.${String(100 + ((i * 7 + k) % 900))}`;
    const slice = (cat: string, name: string, tid: number, k: number, dur: string, args: string) =>
      add(`  {\n    "ph": "X", "cat": "${cat}", "name": "${name}", "pid": ${tid < 99 ? 0 : 8013}, "tid": ${tid},\n    "ts": ${ts(k)}, "dur": ${dur},\n    "args": {\n      ${args}\n    }\n  },\n`);
    if (i % 50 === 0) slice("user_annotation", `deepinfer:launch_forward_N${i % 7}_B${i % 11}`, 8013, 0, "1990.250", `"External id": ${i}`);
    slice("python_function", `model/layers_${i % 61}.py(${i % 997}): forward_${i % 13}`, 8013, 1, "30.125", `"Python parent id": ${i}, "Python id": ${i + 1}, "Ev Idx": ${i}`);
    slice("python_function", `torch/nn/modules/module.py(${i % 97}): _call_impl`, 8013, 2, "28.500", `"Python parent id": null, "Python id": ${i + 1}, "Ev Idx": ${i}`);
    slice("cpu_op", operators[i % operators.length]!, 8013, 3, "12.750", `"External id": ${i}, "Record function id": 0, "Concrete Inputs": ["", "[${i % 64}, 7168]"], "Input type": ["c10::BFloat16", ""], "Input Dims": [[${i % 64}, 7168], []], "Ev Idx": ${i}`);
    slice("cuda_runtime", "cudaLaunchKernel", 8013, 5, "4.500", `"External id": ${i},      "cbid": 211, "correlation": ${i + 1}`);
    add(`  {\n    "ph": "s", "id": ${i + 1}, "pid": 8013, "tid": 8013, "ts": ${ts(5)},\n    "cat": "ac2g", "name": "ac2g"\n  },\n`);
    slice("kernel", kernels[i % kernels.length]!, 7 + (i % 2) * 24, 11, "21.376", `"External id": ${i},      "queued": 0, "device": 0, "context": 1,      "stream": ${7 + (i % 2) * 24}, "correlation": ${i + 1},      "registers per thread": 32,      "shared memory": 0,      "blocks per SM": 0.022727,      "warps per SM": 0.090909,      "grid": [${(i % 9) + 1}, 1, 1],      "block": [128, 1, 1],      "est. achieved occupancy %": 0`);
    add(`  {\n    "ph": "f", "id": ${i + 1}, "pid": 0, "tid": ${7 + (i % 2) * 24}, "ts": ${ts(11)},\n    "cat": "ac2g", "name": "ac2g", "bp": "e"\n  },\n`);
  }
  add(`  {\n    "name": "Record Window End", "ph": "i", "s": "g", "pid": "", "tid": "", "ts": 3676599900000.000\n  }\n  ],\n  "traceName": "made up"\n}\n`);
  return parts.join("");
}
