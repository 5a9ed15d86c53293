package foreign

import (
	"bytes"
	"fmt"
	"sort"
	"strings"

	"github.com/stepscope/stepscope/engine/ledger"
)

// noSeries explains an answer without one series of the expected engine.
func (s *State) noSeries(body []byte, text *Text, found map[string]int) *Problem {
	name := Name(s.kind)
	switch trimmed := bytes.TrimSpace(body); {
	case len(trimmed) == 0:
		return problem("the answer is empty", "应答为空", enable(s.kind))
	case bytes.Equal(trimmed, []byte("[]")) || trimmed[0] == '[' || trimmed[0] == '{':
		if s.kind == TensorRTLLM {
			return problem("the answer is JSON, not Prometheus text", "应答是 JSON 而非 Prometheus 文本", ledger.Words{
				EN: "TensorRT-LLM's /metrics is a JSON list: read it as source \"iterations\", or scrape /prometheus/metrics, which needs return_perf_metrics: true",
				ZH: "TensorRT-LLM 的 /metrics 是 JSON 列表：请以 “iterations” 来源读取，或抓取 /prometheus/metrics（需要 return_perf_metrics: true）"})
		}
		return problem("the answer is JSON, not Prometheus text", "应答是 JSON 而非 Prometheus 文本", ledger.Words{
			EN: "this looks like TensorRT-LLM's list of iterations: set the kind to tensorrt-llm, or correct the address",
			ZH: "这像是 TensorRT-LLM 的迭代列表：请把类型设为 tensorrt-llm，或更正地址"})
	case trimmed[0] == '<':
		return problem("the answer is an HTML page", "应答是 HTML 页面", ledger.Words{
			EN: "correct the port and path: this is a web server or a proxy's error page, not the engine's /metrics",
			ZH: "请更正端口与路径：这是网页服务或代理的错误页，而非引擎的 /metrics"})
	}
	if len(found) > 0 {
		var others []string
		for kind, n := range found {
			others = append(others, fmt.Sprintf("%s (%d)", Name(kind), n))
		}
		sort.Strings(others)
		return problem(
			fmt.Sprintf("no series of %s, but of %s", name, strings.Join(others, ", ")),
			fmt.Sprintf("没有 %s 的指标，但有 %s 的", name, strings.Join(others, "、")),
			ledger.Words{EN: "set the target's kind to that engine, or correct the address", ZH: "请把目标类型改为该引擎，或更正地址"})
	}
	if len(text.Series) > 0 {
		return problem(
			fmt.Sprintf("%d series, none of %s; the first is %s", len(text.Series), name, text.Series[0].Name),
			fmt.Sprintf("有 %d 个序列，但没有 %s 的；第一个是 %s", len(text.Series), name, text.Series[0].Name),
			enable(s.kind))
	}
	why := "the answer has no series"
	if text.Near != "" {
		why = "the answer is not Prometheus text (" + text.Near + ")"
	}
	return problem(why, "应答中没有可读的指标", enable(s.kind))
}

func problem(en, zh string, next ledger.Words) *Problem {
	return &Problem{ledger.Words{EN: en, ZH: zh}, next}
}

// enable says how an engine is made to answer with its metrics.
func enable(kind string) ledger.Words {
	switch kind {
	case VLLM:
		return ledger.Words{
			EN: "vLLM answers on the API server's port (8000) at /metrics unless it was started with --disable-log-stats; with several API servers or a router, use the server's own address",
			ZH: "vLLM 在 API 服务端口（8000）的 /metrics 应答，除非启动时带 --disable-log-stats；若有多个 API 服务或路由器，请用服务自身的地址"}
	case SGLang:
		return ledger.Words{
			EN: "start SGLang with --enable-metrics; it answers on its own port (30000) at /metrics, not on the router's",
			ZH: "请以 --enable-metrics 启动 SGLang；它在自身端口（30000）的 /metrics 应答，而非路由器端口"}
	}
	return ledger.Words{
		EN: "set return_perf_metrics: true for TensorRT-LLM and scrape /prometheus/metrics; or read /metrics as source \"iterations\" with enable_iter_perf_stats: true",
		ZH: "请为 TensorRT-LLM 设置 return_perf_metrics: true 并抓取 /prometheus/metrics；或设置 enable_iter_perf_stats: true 并以 “iterations” 来源读取 /metrics"}
}
