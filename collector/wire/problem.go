package wire

import (
	"strings"
	"time"
)

// NewProblem is a problem of a known kind, told once. An unknown code has no words: a test over all calls keeps it from
// happening.
func NewProblem(at time.Time, code string, args ...string) *Problem {
	text := ProblemTexts[code]
	return &Problem{Time: at, Code: code, Args: args, What: fill(text.What, args), Hint: fill(text.Hint, args), Count: 1}
}

// Since takes over from the problem before how often the same was told in a row, and since when.
func (p *Problem) Since(before *Problem) {
	if before != nil && before.Code == p.Code && before.What == p.What {
		p.Time, p.Count = before.Time, before.Count+p.Count
	}
}

// fill puts arguments into a text, each as it is: what looks like a placeholder in one stays.
func fill(text string, args []string) string {
	var b strings.Builder
	for {
		before, rest, found := strings.Cut(text, "{")
		b.WriteString(before)
		if !found {
			return b.String()
		}
		if len(rest) >= 2 && rest[1] == '}' && rest[0] >= '0' && int(rest[0]-'0') < len(args) {
			b.WriteString(args[rest[0]-'0'])
			text = rest[2:]
			continue
		}
		b.WriteByte('{')
		text = rest
	}
}

// ProblemText is a kind of problem in English: what happened and what to do. The pages have the same in their languages.
type ProblemText struct{ What, Hint string }

// ProblemTexts are the kinds of problems by code. The part before the dot is where they arise.
var ProblemTexts = map[string]ProblemText{
	"log.permission":            {"{0} may not be read: permission denied", "Let the collector's user read the file and its folder."},
	"log.folder":                {"{0} is a folder, not a file", "Give the path of the log in it, or a pattern such as that folder and *.log."},
	"log.disk":                  {"{0} could not be read: the disk or mount reports an error", "Look at the kernel's log; reading is tried again."},
	"log.stale":                 {"{0} could not be read: its network mount lost the file", "Mount it anew if this stays; reading is tried again."},
	"log.timeout":               {"{0} could not be read: its network mount does not answer", "Look at the mount's server and the network; reading is tried again."},
	"log.failed":                {"{0} could not be read ({1})", "Reading is tried again; look at the disk or mount that the file is on."},
	"log.bad_pattern":           {"{0}: {1}", "Correct the pattern."},
	"log.no_match":              {"{0}: no such file", "Check the path; reading begins when a file appears."},
	"log.missing":               {"{0}: no such file yet", "Reading begins when it appears; check the path if the engine runs already."},
	"log.no_stats_deepinfer":    {"{0}: none of {1} lines has statistics", "Check that it is the engine's log and that DEEPINFER_LOGGING_INTERVAL_STEP is above 0."},
	"log.no_stats_vllm":         {"{0}: none of {1} lines has statistics", "Check that it is the server's log and that it runs without --disable-log-stats."},
	"log.no_stats_sglang":       {"{0}: none of {1} lines has statistics", "Check that it is the server's log; its scheduler logs a line for each batch at level info."},
	"log.no_stats_tensorrt_llm": {"{0}: none of {1} lines has statistics", "Check that it is the server's log and that print_iter_log is on."},
	"log.clock_ahead":           {"{0}: the lines' times are {1} ahead of this machine's clock", "Set the zone of this log's clock in the configuration, or correct the clock."},
	"log.clock_behind":          {"{0}: the lines' times are {1} behind this machine's clock", "Set the zone of this log's clock in the configuration, or correct the clock."},
	"log.unreadable":            {"{0} lines could not be read, the last for {1}", "The rest is read; look at the place in the file."},
	"log.more_unavailable":      {"{0} more engines of this file cannot tell all of their figures", "The engines' events say why."},
	"log.texts":                 {"{0} fields were no numbers and were not kept: {1}", "Nothing is wrong with the other fields. If these are figures, a newer version may know them."},
	"log.compressed":            {"{0} is compressed in a way that is not read here", "What was not read before it was compressed is missing, and shown as a gap: rotate without compression, with delaycompress, or with gzip, zstd or bzip2."},
	"log.unavailable":           {"{0} cannot tell [{1}]: {2}", "The engine says so itself; its other figures are complete. Look at the versions of its libraries (for NCCL's memory: NCCL and the driver) and at its log."},

	"metrics.address":                {"{0}", "Correct the address in the configuration."},
	"metrics.elsewhere":              {"{0} sends to another server, {1}, which is not followed", "Enter that server's address if it is meant."},
	"metrics.refused":                {"nothing listens at {0} (connection refused)", "Start the engine, or correct host and port; in a container, publish the port."},
	"metrics.unknown_host":           {"the host name {0} is not known", "Correct the name, or enter an IP address."},
	"metrics.no_route":               {"there is no way to {0}", "Check network and firewall between collector and engine."},
	"metrics.timeout":                {"{0} did not answer within {1}", "The server hangs, is still loading its model, or a firewall drops the packets; try curl from the collector's host."},
	"metrics.plain_http":             {"{0} speaks plain HTTP, not TLS", "Write http:// before the address."},
	"metrics.certificate":            {"the certificate of {0} is not trusted: {1}", "Install its authority on the collector's host, or scrape over http://."},
	"metrics.not_http":               {"{0} does not speak HTTP", "Correct the port; if it speaks TLS, write https:// before the address."},
	"metrics.closed":                 {"{0} closed the connection without an answer", "Look at the log of the server, or of a proxy in between; it may be restarting."},
	"metrics.failed":                 {"{0} can't be read ({1})", "Try curl from the collector's host."},
	"metrics.slow":                   {"{0} sent {1} bytes and then not the rest within {2}", "The server or a proxy is too slow; scrape it less often, or look at its load."},
	"metrics.broken":                 {"the answer of {0} broke off after {1} bytes: {2}", "The server or a proxy closed the connection; look at its log."},
	"metrics.protobuf":               {"{0} answers in protocol buffers, not text", "The server does not heed the Accept header: look for a proxy in between, or scrape the engine's own port."},
	"metrics.token":                  {"{0} answers {1}", "The server or a proxy wants a token: set token_file for this target."},
	"metrics.not_found":              {"{0} answers {1}", "Correct the port and path; SGLang needs --enable-metrics."},
	"metrics.not_found_vllm":         {"{0} answers {1}", "Correct the port: vLLM's API server (8000) has /metrics always; a router in front of it may not."},
	"metrics.not_found_sglang":       {"{0} answers {1}", "Start SGLang with --enable-metrics: without it there is no /metrics."},
	"metrics.not_found_tensorrt_llm": {"{0} answers {1}", "Set return_perf_metrics: true for /prometheus/metrics, enable_iter_perf_stats: true for /metrics; older versions have only the latter."},
	"metrics.server_error":           {"{0} answers {1}", "Look at the server's log; it may still be loading, or its engine has died."},
	"metrics.redirect":               {"{0} answers {1}", "The server sends on without saying where: correct the path."},
	"metrics.status":                 {"{0} answers {1}", "Correct port and path: this may be another program."},
	"metrics.unknown_kind":           {"{0} answers, but with no metrics of vLLM, SGLang or TensorRT-LLM", "Correct port and path, or set the kind of the engine; SGLang needs --enable-metrics, TensorRT-LLM return_perf_metrics: true."},
	"metrics.too_large":              {"{0} answers with more than {1} MB; the rest was left out", "Look which series are so many, and switch them off in the engine."},
	"metrics.columns":                {"{0}: {1} values beyond the limit of {2} columns were left out", "Look which label has ever new values."},
	"metrics.empty_lists":            {"{0}: the last {1} lists were empty", "The engine is idle, or another reader takes the records first."},

	"gpu.none":  {"GPU readings are off: {0}", "Nothing to do where there is no card. Else check that nvidia-smi works for the collector's user, in its container too."},
	"gpu.off":   {"GPU readings are off: {0}", "Look at nvidia-smi and the kernel's log."},
	"gpu.hangs": {"the driver has not answered for {0}", "It hangs: see the kernel's log for XID errors; a reset of the card or the host may be needed."},
	"gpu.card":  {"{0}", "See nvidia-smi and the kernel's log; engines on this card fail too."},

	"profile.failed":          {"profile interface {0} can't be reached ({1})", "Check the address and the network between here and the engine."},
	"profile.unknown_host":    {"profile interface {0}: the host's name is not known", "Correct the name, or enter an IP address."},
	"profile.no_route":        {"profile interface {0}: there is no way to the host", "Check the address, and network and firewall between here and the engine."},
	"profile.timeout":         {"profile interface {0}: no connection within {1}", "The host is down, or a firewall drops the packets: check the address and the network."},
	"profile.refused":         {"profile interface {0}: nothing listens there (connection refused)", "The engine is down, or its interface is off: it needs DEEPINFER_PROFILE_HTTP_ENABLE=1 and a free port DEEPINFER_PROFILE_HTTP_PORT_BASE plus the GPU's number."},
	"profile.server_refused":  {"profile interface {0}: nothing listens there (connection refused)", "The server is down, or the port is wrong."},
	"profile.unknown_engine":  {"profile interface {0}: no statistics of its engine came yet", "By port_base {1} this is the engine on GPU {2}: give its log as a target of this deployment, or set port_base to the port of the engine on GPU 0."},
	"profile.below_port_base": {"profile interface {0}: no statistics of its engine came yet", "Set port_base to the port of the engine on GPU 0: this port is below {1}."},
	"profile.unknown_server":  {"profile interface {0}: no statistics of its engine came yet", "See the state of this server's metrics."},
	"config.broken":           {"{0}", "Correct the file; until then the configuration before it stays in use."},
	"deliver.failed":          {"delivering to the server: {0}", "Nothing is lost: reading waits and delivery is tried again."},
	"deliver.refused":         {"the server refused rows: {0}", "These rows are lost. Run the same version on both sides."},
	"schedule.left_out":       {"scheduled capture of {0}: {1}", "The next turn is in {2}."},
	"spool.server":            {"{0}", "The batches wait in the spool meanwhile; nothing is lost as long as it has room."},
	"spool.full":              {"{0}", "Reading waits until the spool takes batches again; what is in log files stays readable there."},
	"spool.disk":              {"{0}", "Check the disk of the spool's folder."},
	"spool.refused":           {"the server refused batch {0}, its {1} rows and {2} events are lost: {3}", "Collector and server may be of different versions: update the older one."},
	"spool.thinned":           {"{0} samples were thinned out of the spool", "Give it more room with --spool-max, or keep the server up."},
	"spool.damaged":           {"{0} batches in the spool were damaged and are lost", "Check the disk of the spool's folder."},
	"spool.skipped":           {"{0} batches in the spool were given up: the server has later ones of this collector", "Run one collector of this name, always with the same spool folder."},
	"facts.gpus":              {"deployment {0} has {1} GPUs by the configuration, and {2} by what was entered here", "What was entered counts. Correct one of the two, or clear the field on the deployment's form to take the configuration's."},
	"facts.peak":              {"deployment {0} has GPUs of {1} TFLOP/s by the configuration, and of {2} by what was entered here", "What was entered counts. Correct one of the two, or clear the field on the deployment's form to take the configuration's."},
	"collector.taken":         {"another collector on host \"{0}\" calls itself \"{1}\" too and is refused", "Give that one another name (--name, or collector: in its configuration)."},
	"collector.former":        {"a collector on this host ({0}) that started earlier still runs as \"{1}\" and is refused", "Stop the earlier one, or give one of them another name (--name, or collector: in its configuration)."},
}
