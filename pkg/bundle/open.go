package bundle

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"time"

	"k8s.io/client-go/rest"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/fleet"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/fleet/kubecontext"
)

// Bundle is a snapshot that was read.
type Bundle struct {
	snapshot Snapshot
	contexts []fleet.Context
}

// Open reads a snapshot. It reads nothing outside of its directory.
func Open(dir string) (*Bundle, error) {
	b, err := open(dir)
	if err != nil {
		return nil, fmt.Errorf("snapshot %s: %w", dir, err)
	}
	return b, nil
}

// ContextNames returns the contexts of a snapshot. It does not read their objects.
func ContextNames(dir string) (names []string, err error) {
	root, err := openRoot(dir)
	if err != nil {
		return nil, err
	}
	defer func() { _ = root.Close() }()
	var s Snapshot
	if err := readContents(root, &s); err != nil {
		return nil, err
	}
	for i := range s.Contexts {
		names = append(names, s.Contexts[i].Name)
	}
	return names, nil
}

// openRoot opens the directory of a snapshot.
func openRoot(dir string) (*os.Root, error) {
	info, err := os.Stat(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, errors.New("no such directory. Write one with the snapshot command")
	case err != nil:
		return nil, plain(err)
	case !info.IsDir():
		return nil, errors.New("it is a file. Name a directory that the snapshot command wrote")
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, plain(err)
	}
	return root, nil
}

func open(dir string) (*Bundle, error) {
	root, err := openRoot(dir)
	if err != nil {
		return nil, err
	}
	defer func() { _ = root.Close() }()

	b := &Bundle{}
	if err := readContents(root, &b.snapshot); err != nil {
		return nil, err
	}
	stores := map[string]*store{}
	for i := range b.snapshot.Contexts {
		c := &b.snapshot.Contexts[i]
		if c.File != "" && stores[c.File] == nil {
			if stores[c.File], err = readObjects(root, c.File, b.snapshot.plurals(c.File)); err != nil {
				return nil, fmt.Errorf("file %s of context %q: %w", c.File, c.Name, err)
			}
		}
		if s := stores[c.File]; c.File != "" && c.Objects != nil && *c.Objects != s.count {
			return nil, fmt.Errorf("file %s of context %q: it has %d objects, but %s says %d. Take the snapshot again, or correct the number",
				c.File, c.Name, s.count, contents, *c.Objects)
		}
		b.contexts = append(b.contexts, b.context(c, stores[c.File]))
	}
	return b, nil
}

// context returns a context of a fleet for a recorded one.
func (b *Bundle) context(c *Context, s *store) fleet.Context {
	ready := fleet.Context{Name: c.Name, Namespace: cmp.Or(c.Namespace, "default"), CA: c.CA, IsPartial: len(c.Namespaces) > 0}
	if s == nil {
		ready.Err = &kubecontext.RecordedError{Reason: cmp.Or(c.Code, kubecontext.CodeUnreachable), Text: c.Error}
		return ready
	}
	ready.Config = &rest.Config{Host: c.Server, Transport: newServer(c, s, b.TakenAt()), QPS: -1}
	return ready
}

// TakenAt returns the time of the snapshot, which is "now" for its objects.
func (b *Bundle) TakenAt() time.Time { return b.snapshot.TakenAt.UTC() }

// Contexts returns the contexts, ready to be opened as a fleet, in the order in which they were
// recorded. The caller may change them and their Configs.
func (b *Bundle) Contexts() []fleet.Context {
	contexts := slices.Clone(b.contexts)
	for i := range contexts {
		if contexts[i].Config != nil {
			contexts[i].Config = rest.CopyConfig(contexts[i].Config)
		}
	}
	return contexts
}

// Others returns the addresses of contexts that the snapshot does not have, or has under another
// name, or that had an error. If there were unknown contexts, it includes an address without a
// name.
func (b *Bundle) Others() []kubecontext.Address {
	var others []kubecontext.Address
	for _, c := range b.snapshot.Contexts {
		if c.Error != "" && c.Server != "" {
			others = append(others, kubecontext.Address{Context: c.Name, Server: c.Server, CA: c.CA})
		}
	}
	for _, a := range b.snapshot.Others {
		others = append(others, kubecontext.Address{Context: a.Name, Server: a.Server, CA: a.CA})
	}
	if b.snapshot.Partial {
		others = append(others, kubecontext.Address{})
	}
	return others
}

// Namespaces returns the recorded namespaces of a context. bounded is false if all were read.
func (b *Bundle) Namespaces(context string) (names []string, bounded bool) {
	for _, c := range b.snapshot.Contexts {
		if c.Name == context {
			return slices.Clone(c.Namespaces), len(c.Namespaces) > 0
		}
	}
	return nil, false
}
