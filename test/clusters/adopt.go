package clusters

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
)

// Dir returns the directory of the clusters. It is removed with them.
func (s *Set) Dir() string { return s.dir }

// Adopt ends a process when the clusters are taken down, whatever ended the process that
// started it. Call forget once the process has ended.
func (s *Set) Adopt(name string, pid int) (forget func() error, err error) {
	file := filepath.Join(s.dir, "adopted", name)
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		return nil, err
	}
	if err := os.WriteFile(file, []byte(strconv.Itoa(pid)), 0o644); err != nil {
		return nil, fmt.Errorf("adopt %s: %w", name, err)
	}
	return func() error { return os.Remove(file) }, nil
}
