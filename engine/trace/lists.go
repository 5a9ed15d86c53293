package trace

// How long the summary's lists may become. Real captures stay far below; a hostile file
// would else make a summary that no browser can hold.
const (
	maxStepList   = 1 << 17
	maxShapeList  = 1 << 14
	maxPhaseList  = 1 << 17
	maxDeviceList = 1 << 12
)

// cut shortens a sorted list to its first n entries and remembers that some are left out.
func cut[T any](a *analysis, list []T, n int) []T {
	if len(list) <= n {
		return list
	}
	a.listsCut = true
	return list[:n:n]
}
