// Package gpu reads the cards of this host through NVIDIA's management library.
//
// [Open] gives the cards; what a card or a driver does not tell is absent, never
// zero. [New] makes a source of them that joins each card to the engine it works
// for: by the card's UUID, by a process on it, or by its index.
//
// The library is loaded at run time, and any driver's: without one, or in a build
// without cgo, Open fails and nothing else does. A function that the loaded
// library lacks would end the whole process when it is called, so each one is
// looked up before, and what needs it is absent. For the same reason errors are
// named here instead of by the library.
package gpu
