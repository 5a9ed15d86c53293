package logs

import "sync"

// Claims says which files are read, so that none is read twice: not by two targets whose patterns overlap, and not as
// another's rotated file.
type Claims struct {
	mu    sync.Mutex
	owner map[string]*Source
}

// take claims a path. It is false when another source has it.
func (c *Claims) take(path string, s *Source) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.owner == nil {
		c.owner = map[string]*Source{}
	}
	if o := c.owner[path]; o != nil {
		return o == s
	}
	c.owner[path] = s
	return true
}

// release gives a path back.
func (c *Claims) release(path string, s *Source) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.owner[path] == s {
		delete(c.owner, path)
	}
}

func (c *Claims) taken(path string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.owner[path] != nil
}
