// Package scrape asks vLLM, SGLang and TensorRT-LLM servers for their metrics over HTTP
// and hands the mapped values to the collector as batches. What the numbers mean is said
// in engine/foreign; this package knows addresses, times, limits, and what to tell a person
// when a server does not answer as it should.
package scrape
