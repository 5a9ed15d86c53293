package wire

import (
	"fmt"

	"github.com/stepscope/stepscope/store"
)

// Say is a sentence of SaidTexts with its arguments: sentences, or whatever prints as it is.
func Say(code string, args ...any) store.Said {
	s := store.Said{Code: code}
	texts := make([]string, len(args))
	for i, a := range args {
		arg, ok := a.(store.Said)
		if !ok {
			arg = store.Said{Text: fmt.Sprint(a)}
		}
		s.Args, texts[i] = append(s.Args, arg), arg.Text
	}
	s.Text = fill(SaidTexts[code], texts)
	return s
}

// Join puts sentences behind each other.
func Join(all []store.Said) store.Said {
	var s store.Said
	for i, next := range all {
		if i == 0 {
			s = next
			continue
		}
		s = Say("and", s, next)
	}
	return s
}

// SaidTexts are the sentences about captures, in English, by code; what ends in _next is a next step. The pages have the
// same in their languages.
var SaidTexts = map[string]string{
	"and":                  "{0}; {1}",
	"detail":               "{0}: {1}",
	"http_said":            "HTTP {0}: {1}",
	"html_page":            "an HTML page",
	"cause_permission":     "permission denied",
	"cause_not_exist":      "no such file or directory",
	"cause_no_space":       "no space left on device",
	"cause_io":             "input/output error",
	"cause_stale":          "stale file handle",
	"cause_refused":        "connection refused",
	"cause_unknown_host":   "no such host",
	"cause_no_route":       "no route to host",
	"cause_timeout":        "timed out",
	"cause_plain_http":     "the server speaks plain HTTP, not TLS",
	"cause_broken_off":     "the connection broke off",
	"no_engine":            "collector {0} has no engine {1}/{2} that can be captured",
	"no_engine_next":       "check the collector's configuration: the engine's target needs a profile address",
	"too_many":             "{0} captures are under way already",
	"too_many_next":        "wait for them to end",
	"left_recording":       "the engine may still record, and leave its file in {0}",
	"unknown_kind":         `an engine of kind "{0}" can't be asked for traces`,
	"unknown_kind_next":    "the kinds are deepinfer, vllm, sglang and tensorrt-llm",
	"output_folder":        "output folder: {0}",
	"paths_next":           "map the folders of its node under paths, or run a collector there",
	"choose_below_next":    "choose a folder below one of those, or map it under paths",
	"mounted_next":         "the collector must be able to read it: check that it is mounted and its permissions",
	"busy_again":           "the engine is busy, asked again after {0} (try {1} of {2})",
	"not_local":            "the engine at {0} is not on this host and no path of its node is mapped",
	"path_long":            "the path has {0} bytes, more than {1}: {2}",
	"path_zero":            "{0} holds a zero byte",
	"path_relative":        "{0} is not an absolute path",
	"path_outside":         "{0}: not below a folder that the collector may read",
	"path_outside_of":      "{0}: not below a folder that the collector may read (configured: {1})",
	"path_outside_none":    "{0}: not below a folder that the collector may read (none is configured)",
	"folder_full":          "{0} holds more than {1} files; give traces a folder of their own",
	"not_regular":          "{0} is no regular file but {1}",
	"bad_address":          `"{0}" is neither host:port nor an http address`,
	"answer_lost":          "the answer to /start_profile was lost: {0}",
	"call_refused":         "{0} at {1}: {2}",
	"another_records_next": "another client records, or an earlier recording was never stopped: POST /stop_profile ends it",
	"token_next":           "if the server wants a key, give it as the engine's token",
	"server_log_next":      "see the server's log",
	"refused_next":         "nothing listens there: the server is down, or the port is wrong",
	"unknown_host_next":    "the host's name can't be resolved; check its spelling or use the address",
	"network_next":         "check the address and the network",
	"vllm_next":            `start vLLM with --profiler-config '{"profiler":"torch","torch_profiler_dir":"/abs/dir"}' (v0.13.0 and later), or with VLLM_TORCH_PROFILER_DIR=/abs/dir before; without, it has no profile calls`,
	"sglang_next":          "check that an SGLang server answers at this address: its profile calls need no option",
	"trt_next":             "the call needs a recent trtllm-serve with the PyTorch backend; older ones record only from their start, by TLLM_PROFILE_START_STOP and TLLM_TORCH_PROFILE_TRACE",
	"vllm_where":           "vLLM does not tell where it writes traces",
	"vllm_where_next":      "set the engine's output_dir to its torch_profiler_dir",
	"vllm_no_folder":       "vLLM writes to {0}, which is no folder",
	"vllm_no_folder_next":  "set torch_profiler_dir to a folder that the collector sees too",
	"vllm_fixed":           "vLLM can't be told where to write; its files are looked for in {0}",
	"restarted_stop":       "the collector was restarted meanwhile: it stops the recording and looks for its files",
	"restarted_files":      "the collector was restarted meanwhile: it looks for the files",
	"restarted_file":       "the collector was restarted meanwhile: it looks for the file",
	"stop_silent":          "/stop_profile has not answered; the files are complete all the same",
	"steps_late":           "{0} steps did not come in time: the server was told to stop",
	"stop_unanswered":      "/stop_profile at {0} has not answered",
	"watching":             "{0}; watching {1}",
	"busy_next":            "another client captures, or the engine hangs: look at its last log line",
	"not_picked_up_next":   "nothing will happen at the engine; look whether it steps, then try again",
	"bad_request_next":     "choose 1 to 50 steps and a folder that the engine can write",
	"see_reason_next":      "see the reason; nothing was recorded",
	"mapped_only_next":     "a path from an engine is read only below the mapped folders",
	"engines_file":         "the engine's file: {0}",
	"file_of_another":      "the file's name says GPU {0} and rank {1}: check the port of the engine's profile interface",
	"two_files":            "both {0} and {1} may be the trace",
	"two_files_next":       "give the engine's GPU and rank in the configuration, or each node a folder of its own",
	"listing":              "listing {0}: {1}",
	"read_folder_next":     "the collector must be able to read the folder",
	"engine_busy":          "engine {0}: busy",
	"engine_not_picked_up": "engine {0}: not picked up",
	"engine_no_result":     "engine {0}: no result",
	"engine_bad_request":   "engine {0}: bad request",
	"engine_unreachable":   "engine {0}: unreachable",
	"engine_not_sent":      "engine {0}: not sent",
	"engine_hangs":         "after {0} tries: busy, or hung: no step since {1}",
	"engine_later":         "try again later",
	"engine_loads":         "the engine hangs, is suspended or still loads; trying again later is safe",
	"engine_change":        "change the request",
	"engine_refused":       "the interface is off (DEEPINFER_PROFILE_HTTP_ENABLE=1 turns it on), its bind failed (the engine's log says so), or the port is wrong (6070 + driver GPU id)",
	"engine_dial_timeout":  "the host is down or a firewall drops packets; check the address and the network",
	"engine_unknown_host":  "the host's name can't be resolved; check its spelling or use the address",
	"engine_no_route":      "there is no way to the host; check the address and the network",
	"engine_bad_address":   "give host:port, for example 10.0.0.7:6070",
	"engine_not_deepinfer": "another service answers there; check the port (6070 + driver GPU id)",
	"engine_failed":        "see the engine's log; a part of the file may lie in the output folder",
	"engine_may_run":       "the capture may still run: look for its file in the output folder before trying again",
	"not_of_engine":        "none of the {0} files is of engine {1} of {2}",
	"not_of_engine_next":   "check the engine's data-parallel index in the configuration",
	"preparing":            "preparing {0}: {1}",
	"preparing_next":       "the collector's temporary folder needs room for the compressed trace; the file is left where it is",
	"changed":              "{0} was changed while it was sent",
	"changed_next":         "something else writes to this file; capture again",
	"storing":              "storing {0}: {1}",
	"too_large_next":       "raise the server's limit of one trace, or record fewer steps; the file is left where it is",
	"no_room_next":         "delete traces at the server, or give it more room; the file is left where it is",
	"by_hand_next":         "the file is left where it is and can be imported by hand",
	"not_taken_yet":        "the server did not take the file yet: {0}",
	"only_regular_next":    "only regular files are fetched",
	"opening":              "opening {0}: {1}",
	"read_file_next":       "the collector must be able to read the file",
	"reading":              "reading {0}: {1}",
	"disk_failed_next":     "the disk or the mount failed; the file is left where it is",
	"no_trace":             "{0} is no trace: {1}",
	"left_next":            "the file is left where it is",
	"left":                 "{0} is left where it is: {1}",
	"early_name":           "the name of {0} tells a time before the request: check the node's clock and its zone in the configuration",
	"said_complete":        "{0}: {1}; the engine says it is complete",
	"nothing_came":         "no trace appeared in {0}",
	"not_there":            "{0} is not there",
	"on_node":              "{0} ({1} on the engine's node)",
	"odd_file_next":        "{0} is there, but it is no regular file",
	"where_next":           "check that the folder is the one in which the engine writes, on the same node or mount",
	"incomplete":           "no complete trace in {0}: {1}",
	"part":                 "{0} ({1} bytes): {2}",
	"incomplete_next":      "the engine stopped in the middle of writing, or its disk is full; what is there can be imported by hand",
	"holds_nothing":        "it holds nothing yet",
	"not_json":             "it begins neither like JSON nor like gzip",
	"gzip_not_json":        "what is compressed in it is not JSON",
	"gzip_cut":             "its gzip data ends early or is damaged: {0}",
	"brackets":             "its brackets don't match: it may be cut",
	"cut":                  "it ends in the middle",
	"grows":                "it still grows",
	"size_changed":         "its size changed while it was read",
	"cancelled_by":         "cancelled by {0}",
	"collector_away":       "its collector is not connected: the engine may still record and leave a file on its node",
	"silent":               `collector "{0}" has said nothing about this capture for {1}; it was {2}`,
	"silent_next":          "start the collector again and look at its state on the collector page; a file may lie in the engine's output folder",
	"idle":                 "the engine had no running sequence when this was asked",
	"state_queued":         "queued",
	"state_asked":          "asked",
	"state_picked_up":      "picked_up",
	"state_captured":       "captured",
	"state_found":          "found",
}
