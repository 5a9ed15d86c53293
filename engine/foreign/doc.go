// Package foreign reads what vLLM, SGLang and TensorRT-LLM say of themselves and maps it
// to the one metric table of engine/ledger.
//
//	Prometheus text → [ParseText] → [Series] ┐
//	drained JSON list → [ParseIterations]    ├→ [State] or [Iterations] → [Reading]
//	log line → [LogReader]                   ┘
//
// What two engines call alike may be defined apart, and the other way round. A key of the
// table stands for one definition: an engine that counts otherwise has another key, and
// [ledger.Related] says what lies between them. [RuleFor] says how an engine's number came
// about; [AbsentReason] says why a number is not there. A missing number is never 0.
//
// Names differ between versions. Each rule lists the names from the newest to the oldest;
// prefixes are accepted with a colon and with an underscore. A series that no rule reads is
// kept under its own name.
//
// The package does no I/O. All input is untrusted: every size is bounded by a limit in
// limits.go, and what was cut or skipped is counted.
package foreign
