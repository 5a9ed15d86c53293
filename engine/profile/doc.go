// Package profile is the /profile protocol: how somebody outside an engine gets a trace of its next steps.
//
// [Manager] is the engine's side. Three contexts meet in it, and each keeps to its own:
//
//   - the HTTP side checks a request, writes it into a single slot and then sets an event;
//   - the engine, at the very start of every [Manager.Step], takes the slot's content and then clears the event. The
//     profiler starts and stops here and nowhere else, because profilers are bound to the thread that runs them;
//   - one IO worker creates folders and writes files, so that neither of the others ever waits for a disk.
//
// A slot in place of a queue keeps requests from piling up; that only one capture runs is the engine's decision, which
// alone knows the profiler. Both refusals are the same 409.
//
// Whether a request takes effect is decided once, by an atomic switch: the engine claims it, or the HTTP side cancels
// it. Once claimed, the capture runs to its end and its file is written even when nobody listens any more. Before, the
// request is dropped, but it lies in the slot until the engine's next step: a hung engine answers 409 from then on.
//
// Steps are the engine's steps, placeholder steps without any sequence included: an idle engine gives a trace of empty
// steps. Under zero-overhead scheduling the last step's GPU work may still run when the profiler stops and is then
// missing from the trace; more steps make that tail matter less.
//
// [Client] is the caller's side: one blocking call whose errors say what may be done next.
package profile

import "time"

// What an engine uses unless it is told otherwise.
const (
	DefaultPortBase       = 6070             // the port is this plus the driver GPU's id
	DefaultSteps          = 20               // steps of a capture
	MaxSteps              = 50               // most steps of a capture: about 245 MB of trace
	DefaultOutputDir      = "/tmp"           // on the engine's own node
	DefaultPickupWait     = 30 * time.Second // until the engine has taken a request
	DefaultCompletionWait = 10 * time.Minute // from there until its file is on disk
)
