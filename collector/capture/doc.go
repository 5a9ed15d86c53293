// Package capture gets traces out of engines: it asks an engine's own profile
// call for one, follows it, finds the file, and hands it to the server.
//
// A Runner carries out the commands that a collector gets from its server, one
// capture per engine at a time. Each capture is told state by state, with the
// time of each, and can be cancelled. The engines differ in what they tell:
//
//   - DeepInfer answers once the file is written, with its path. When the answer
//     gets lost, the file may still come: the Runner then watches the output
//     folder for a file of that GPU, rank and time.
//   - vLLM records from one call to another, tells no path, and may take many
//     minutes to stop.
//   - SGLang and TensorRT-LLM record a number of steps by themselves and tell no
//     path; their files are known by name.
//
// An API server of the last three records all its ranks at once and writes a file
// for each, so captures of the same group at the same server are one recording.
//
// Whatever an engine says about files is untrusted. Only folders that the
// configuration maps are read, through [os.Root], which no link leads out of and
// which leaves no moment between check and use; only regular files are read, and
// only if they begin like a trace.
package capture
