/** What the script of the page of two traces says, in the page's language. */

import { integer } from "./format";

const page = typeof document === "undefined" ? "en" : document.documentElement.lang;

const steps = (n: number) => (n === 1 ? "1 step" : `${integer(n)} steps`);

const en = {
  none: "no trace chosen",
  facts: {
    file: "File", size: "Size", deployment: "Deployment", engine: "Engine", versions: "Versions", gpu: "GPU", devices: "GPUs in the trace",
    rank: "Rank", start: "Start", span: "Span", steps: "Steps", health: "Health", kernels: "Kernels", launches: "Launches",
  } as Record<string, string>,
  kinds: { decode: "decode", prefill: "prefill", mixed: "mixed", idle: "idle", unknown: "of unknown kind" } as Record<string, string>,
  kindTitle: { decode: "Decode steps", prefill: "Prefill steps", mixed: "Mixed steps", unknown: "Steps of unknown kind", idle: "Idle steps" } as Record<string, string>,
  steps,
  differs: "differs",
  figure: {
    busy_ns: "Busy (any work)", compute_ns: "Computing", exposed_comm_ns: "Communication not hidden by computing",
    copy_ns: "Copies", idle_ns: "Idle between first and last work", sum_ns: "Sum of kernel durations",
  } as Record<string, string>,
  side: (letter: string) => letter,
  minus: "B − A",
  perStep: (a: string, b: string) => `sums divided by ${a} in A and ${b} in B`,
  perTrace: "sums of the whole traces",
  stepless: (sides: string) => `whole traces: ${sides} has no steps to divide by`,
  only: (letter: string) => `only in ${letter}`,
  noGPU: (letter: string) => `${letter} has no GPU events`,
  noGPUWhy: (launches: number) =>
    `${launches > 0 ? `${integer(launches)} launches and no kernel were recorded. ` : ""}GPU time, kernels and communication can't be compared. Capture again with GPU (CUDA) activities on and no other profiler attached.`,
  notSide: (letter: string) => `not in ${letter}`,
  notRecorded: (letter: string) => `${letter} recorded no GPU work`,
  noFigure: "the trace does not say",
  summary: (letter: string) => `${letter}: from the kept summary`,
  notes: {
    same: ["The same file twice.", "Both sides have the same bytes: every difference is 0."],
    unusable: (letter: string) => `${letter} is unusable`,
    warn: (letter: string) => `${letter} was read with warnings`,
    load: "Not the same load",
    loadWhy: (kind: string, a: string, b: string) => `${kind} steps run ${a} sequences in A and ${b} in B (median): times of a step grow with the batch.`,
    mix: "Not the same mix of steps",
    mixWhy: (a: string, b: string) => `A has ${a}; B has ${b}. Per-step sums of phases and kernels cover all kinds; the table of kinds tells them apart.`,
    few: "Few steps",
    fewWhy: (letter: string, n: number) => `${letter} has ${steps(n)}: too few to tell a difference from chance.`,
    gpus: "Not the same GPUs",
    gpusWhy: (a: string, b: string) => `${a} in A, ${b} in B.`,
    count: "Not as many GPUs in the traces",
    countWhy: (a: number, b: number) => `${a} in A, ${b} in B; GPU figures are sums over all of them.`,
    capped: (letter: string) => `${letter} ran into a limit of the reader`,
    cappedWhy: "figures per step cover the part before it",
  },
  verdict: {
    cycle: (kind: string, a: string, b: string) => `${kind} cycle ${b} in B against ${a} in A`,
    change: (delta: string, rel: string) => `${delta} (${rel})`,
    same: "no difference",
    kinds: { decode: "Decode", prefill: "Prefill", mixed: "Mixed", unknown: "Step" } as Record<string, string>,
    kernels: (name: string, delta: string) => `kernels of class ${name} ${delta} a step`,
    gap: (delta: string) => `blank between steps ${delta}`,
    phase: (name: string, delta: string) => `${name} ${delta} a step on the CPU`,
    graph: (a: string, b: string) => `graph nodes ${a} → ${b}`,
    noKind: "No kind of step that both traces have; compare phases and kernels as whole sums",
    most: "most of what changed: ",
    next: "; ",
    stop: ".",
  },
  open: (letter: string, what: string) => `open in ${letter}: ${what}`,
  progress: (done: string, total: string) => `${done} of ${total}`,
  loading: "asking the server for its summary",
  reading: (done: string) => `${done} read`,
  cancelled: "reading was cancelled",
  gone: "this file is no longer open in the other tab; drop it here",
  pickOther: "choose or drop the other trace to compare",
  samples: (a: number, b: number) => `${integer(a)} in A, ${integer(b)} in B`,
  spread: (n: number, mean: string, min: string, max: string) => `over ${steps(n)}: mean ${mean}, ${min} … ${max}`,
  groupKinds: (a: number, b: number) => `${steps(a)} in A, ${steps(b)} in B`,
  groupPhases: "own times of the group's sections",
  gpuCount: (n: number) => String(n),
  fileGone: "A dropped file has no address; this link hands it to the viewer while this page stays open.",
};

export type PairStrings = typeof en;

const zh: PairStrings = {
  none: "未选择 trace",
  facts: {
    file: "文件", size: "大小", deployment: "部署", engine: "引擎", versions: "版本", gpu: "GPU", devices: "trace 中的 GPU 数",
    rank: "Rank", start: "开始", span: "跨度", steps: "步", health: "健康", kernels: "Kernel", launches: "启动",
  },
  kinds: { decode: "解码", prefill: "预填充", mixed: "混合", idle: "空闲", unknown: "类型未知" },
  kindTitle: { decode: "解码步", prefill: "预填充步", mixed: "混合步", unknown: "类型未知的步", idle: "空闲步" },
  steps: (n) => `${integer(n)} 步`,
  differs: "不同",
  figure: {
    busy_ns: "忙（任何工作）", compute_ns: "计算", exposed_comm_ns: "未被计算掩盖的通信",
    copy_ns: "拷贝", idle_ns: "首末工作之间的空闲", sum_ns: "kernel 时间之和",
  },
  side: (letter) => letter,
  minus: "B − A",
  perStep: (a, b) => `总和在 A 中除以 ${a}，在 B 中除以 ${b}`,
  perTrace: "整个 trace 的总和",
  stepless: (sides) => `按整个 trace：${sides} 没有可作除数的步`,
  only: (letter) => `仅 ${letter} 有`,
  noGPU: (letter) => `${letter} 没有 GPU 事件`,
  noGPUWhy: (launches) =>
    `${launches > 0 ? `记录了 ${integer(launches)} 次启动，但没有 kernel。` : ""}GPU 时间、kernel 和通信无法比较。请打开 GPU（CUDA）活动重新采集，并确认没有其他分析器占用 GPU。`,
  notSide: (letter) => `${letter} 中没有`,
  notRecorded: (letter) => `${letter} 没有记录 GPU 工作`,
  noFigure: "trace 中没有",
  summary: (letter) => `${letter}：来自已保存的摘要`,
  notes: {
    same: ["同一个文件。", "两侧字节相同：所有差值为 0。"],
    unusable: (letter) => `${letter} 不可用`,
    warn: (letter) => `${letter} 读取时有警告`,
    load: "负载不同",
    loadWhy: (kind, a, b) => `${kind}步的序列数（中位数）：A 为 ${a}，B 为 ${b}；批次越大，单步越长。`,
    mix: "步的构成不同",
    mixWhy: (a, b) => `A：${a}；B：${b}。阶段和 kernel 的每步总和包含所有类型；按类型请看步的表格。`,
    few: "步数太少",
    fewWhy: (letter, n) => `${letter} 只有 ${integer(n)} 步：不足以区分差异与偶然。`,
    gpus: "GPU 不同",
    gpusWhy: (a, b) => `A 为 ${a}，B 为 ${b}。`,
    count: "trace 中的 GPU 数不同",
    countWhy: (a, b) => `A 有 ${a} 个，B 有 ${b} 个；GPU 数字为全部之和。`,
    capped: (letter) => `${letter} 达到了读取上限`,
    cappedWhy: "每步的数字只覆盖上限之前的部分",
  },
  verdict: {
    cycle: (kind, a, b) => `${kind}周期：B 为 ${b}，A 为 ${a}`,
    change: (delta, rel) => `${delta}（${rel}）`,
    same: "没有差异",
    kinds: { decode: "解码", prefill: "预填充", mixed: "混合", unknown: "步" },
    kernels: (name, delta) => `${name}类 kernel 每步 ${delta}`,
    gap: (delta) => `步间空白 ${delta}`,
    phase: (name, delta) => `${name} 每步 CPU ${delta}`,
    graph: (a, b) => `graph 节点 ${a} → ${b}`,
    noKind: "两个 trace 没有相同类型的步；请按总和比较阶段和 kernel",
    most: "变化主要来自：",
    next: "；",
    stop: "。",
  },
  open: (letter, what) => `在 ${letter} 中打开：${what}`,
  progress: (done, total) => `${done} / ${total}`,
  loading: "正在向服务器请求摘要",
  reading: (done) => `已读取 ${done}`,
  cancelled: "读取已取消",
  gone: "另一标签页已不再打开该文件；请拖到这里",
  pickOther: "请选择或拖入另一个 trace 以比较",
  samples: (a, b) => `A ${integer(a)} 次，B ${integer(b)} 次`,
  spread: (n, mean, min, max) => `${integer(n)} 步：平均 ${mean}，${min} … ${max}`,
  groupKinds: (a, b) => `A ${integer(a)} 步，B ${integer(b)} 步`,
  groupPhases: "该组区段的自身时间",
  gpuCount: (n) => String(n),
  fileGone: "拖入的文件没有地址；此链接在本页打开期间把它交给查看器。",
};

export let d: PairStrings = page.startsWith("zh") ? zh : en;

/** Switches the language, for tests. */
export function setPairLanguage(lang: "en" | "zh"): void {
  d = lang === "zh" ? zh : en;
}
