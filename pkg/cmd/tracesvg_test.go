package cmd

import (
	"encoding/xml"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"gotest.tools/v3/assert"
	"gotest.tools/v3/golden"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/cmd/util"
)

// TestTracePicture: the picture of a Job's life is XML that refers only to its own patterns, with
// a bar for each cluster.
func TestTracePicture(t *testing.T) {
	out, errOut, code := run(t, "trace", "low1", "-n", "default", "-o", "svg", "--from", filepath.Join(recordings, "preempted-on-worker"))
	assert.Equal(t, code, util.ExitOK, errOut)
	golden.Assert(t, out, "trace/life.svg")
	var picture struct {
		XMLName xml.Name
		Life    struct {
			Title string   `xml:"title"`
			Texts []string `xml:"text"`
			Parts []struct {
				Title string `xml:"title"`
			} `xml:"g"`
		} `xml:"g"`
	}
	assert.NilError(t, xml.Unmarshal([]byte(out), &picture))
	assert.Equal(t, picture.XMLName.Local, "svg")
	assert.Assert(t, strings.HasPrefix(picture.Life.Title, "Job default/low1: waiting ("), picture.Life.Title)
	var parts []string
	for _, part := range picture.Life.Parts {
		what, _, _ := strings.Cut(part.Title, " from ")
		parts = append(parts, what)
	}
	assert.DeepEqual(t, parts, []string{"kwok-mgr: earlier", "kwok-mgr: offered", "kwok-w2: waiting", "kwok-w1: waiting"})
	for _, fill := range regexp.MustCompile(`url\(([^)]*)\)`).FindAllStringSubmatch(out, -1) {
		assert.Assert(t, strings.Contains(out, `<pattern id="`+strings.TrimPrefix(fill[1], "#")+`"`), fill[1])
	}
	for _, other := range []string{"href", "<script", "<style", "<image"} {
		assert.Assert(t, !strings.Contains(out, other), other)
	}
}

// TestTracePictureOfUnread: the picture says what was not checked, and standard error does not repeat it.
func TestTracePictureOfUnread(t *testing.T) {
	out, errOut, code := run(t, "trace", "train", "-n", "default", "-o", "svg", "--contexts", "kwok-mgr", "--from", filepath.Join(recordings, "running"))
	assert.Equal(t, code, util.ExitPartial, errOut)
	assert.Assert(t, strings.Contains(out, "not checked: "), out)
	assert.Assert(t, !strings.Contains(errOut, "not checked"), errOut)
}

// TestTracePictures: the first Jobs of every recording have pictures.
func TestTracePictures(t *testing.T) {
	t.Parallel()
	eachRecording(t, func(t *testing.T, _, dir string) {
		t.Helper()
		names, _, _ := run(t, "trace", "-A", "-o", `jsonpath={range .items[*]}{.origin.namespace}/{.origin.kind}/{.origin.name}{"\n"}{end}`, "--from", dir)
		lines := strings.Split(strings.TrimSpace(names), "\n")
		for _, line := range lines[:min(len(lines), 3)] {
			words := strings.Split(line, "/")
			if len(words) != 3 || words[2] == "" {
				continue // An orphan, which has no origin.
			}
			out, errOut, _ := run(t, "trace", strings.ToLower(words[1])+"/"+words[2], "-n", words[0], "-o", "svg", "--from", dir)
			assert.NilError(t, xml.Unmarshal([]byte(out), new(struct{})), "%s: %s", line, errOut)
			assert.Assert(t, !strings.Contains(out, "NaN") && !strings.Contains(out, "Inf"), out)
		}
	})
	for args, errOut := range map[string]string{
		"-A -o svg":                    "-o svg requires the NAME of a Job",
		"-f testdata/none.yaml -o svg": "-o svg cannot be combined with --filename",
		"-n default none -o svg":       "not found",
	} {
		out, err, code := run(t, append([]string{"trace", "--from", filepath.Join(recordings, "running")}, strings.Fields(args)...)...)
		assert.Assert(t, out == "" && code != util.ExitOK && strings.Contains(err, errOut), "%s: %s", args, err)
	}
}
