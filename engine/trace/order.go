package trace

import "slices"

// sortBy sorts list, keeping equal elements in their order. The work is done by one sort
// of indexes for all types: an instance of slices.SortFunc per type of element made up a
// tenth of the WASM module.
func sortBy[T any](list []T, compare func(x, y *T) int) {
	idx := order(len(list), func(i, j int32) int { return compare(&list[i], &list[j]) })
	out := make([]T, len(list))
	for k, i := range idx {
		out[k] = list[i]
	}
	copy(list, out)
}

// order returns the indexes 0..n-1 in the order that compare gives them.
func order(n int, compare func(i, j int32) int) []int32 {
	idx := make([]int32, n)
	for i := range idx {
		idx[i] = int32(i)
	}
	slices.SortStableFunc(idx, compare)
	return idx
}
