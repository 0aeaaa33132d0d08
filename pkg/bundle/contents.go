package bundle

import (
	"errors"
	"fmt"
	"io/fs"
	"os"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/yaml"

	"github.com/jobmanagedby/kubectl-jobmanagedby/internal/boundedyaml"
)

// readContents reads and checks snapshot.yaml.
func readContents(root *os.Root, s *Snapshot) error {
	data, err := readFile(root, contents, maxContentsSize)
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("not a snapshot: it has no %s. Name a directory that the snapshot command wrote", contents)
	}
	if err == nil {
		err = decodeContents(data, s)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", contents, err)
	}
	return nil
}

func decodeContents(data []byte, s *Snapshot) error {
	text, err := boundedyaml.ToJSON(data)
	if err != nil {
		return notYAML(err)
	}
	// The version comes first: the other fields of a later version are unknown.
	var header envelope
	if err := yaml.Unmarshal(text, &header); err != nil {
		return fmt.Errorf("not a %s of %s: it has no fields, or apiVersion and kind are not strings", Kind, APIVersion)
	}
	if err := checkVersion(header); err != nil {
		return err
	}
	if err := yaml.Unmarshal(text, s); err != nil {
		return fmt.Errorf("invalid %s: %w", Kind, unwrapped(err))
	}
	if s.TakenAt.IsZero() {
		return errors.New("takenAt is missing, so ages are unknown. Add it, such as takenAt: \"2026-01-31T12:00:00Z\"")
	}
	if len(s.Contexts) == 0 {
		return errors.New("it has no contexts. Take the snapshot again")
	}
	seen := map[string]bool{}
	for i := range s.Contexts {
		c := &s.Contexts[i]
		switch {
		case c.Name == "":
			return fmt.Errorf("context %d of %d has no name", i+1, len(s.Contexts))
		case seen[c.Name]:
			return fmt.Errorf("context %q appears twice", c.Name)
		}
		seen[c.Name] = true
		if err := c.check(); err != nil {
			return fmt.Errorf("context %q: %w", c.Name, err)
		}
	}
	return nil
}

func checkVersion(header envelope) error {
	gv, err := schema.ParseGroupVersion(header.APIVersion)
	ours, _ := schema.ParseGroupVersion(APIVersion)
	switch {
	case err != nil || gv.Group != ours.Group:
		return fmt.Errorf("not a snapshot: its apiVersion is %q, not %s", header.APIVersion, APIVersion)
	case gv != ours:
		return fmt.Errorf("a newer version of this plugin wrote it (%s); this one reads %s. Upgrade the plugin", gv, APIVersion)
	case header.Kind != Kind:
		return fmt.Errorf("not a snapshot: its kind is %q, not %s", header.Kind, Kind)
	}
	return nil
}

// check returns an error if the recorded facts of a context are inconsistent.
func (c *Context) check() error {
	switch {
	case c.File != "" && c.Error != "":
		return errors.New("it has both a file and an error. Remove one")
	case c.File == "" && c.Error == "":
		return errors.New("it has neither a file nor an error. Add one")
	case c.File != "" && c.Server == "":
		return errors.New("it has no server. Add its URL, which identifies the cluster")
	}
	if c.File != "" {
		if _, _, err := rest.DefaultServerUrlFor(&rest.Config{Host: c.Server}); err != nil {
			return fmt.Errorf("its server is not a URL: %w", err)
		}
	}
	for _, u := range c.Unread {
		if u.Resource == "" {
			return errors.New("an entry of unread has no resource")
		}
	}
	for i := range c.Kinds {
		if err := c.Kinds[i].check(); err != nil {
			return err
		}
	}
	return nil
}

// unwrapped returns the innermost error, without the actions of libraries.
func unwrapped(err error) error {
	for errors.Unwrap(err) != nil {
		err = errors.Unwrap(err)
	}
	return err
}
