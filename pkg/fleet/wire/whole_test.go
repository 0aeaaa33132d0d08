package wire

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/iotest"

	"gotest.tools/v3/assert"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
)

// things is a server with count objects, which it sends in chunks or as a whole.
type things struct {
	count int
	// hangs is whether the connection breaks within a whole list.
	hangs bool
	// counts is whether chunks have remainingItemCount. whole changes the answer with all
	// objects, and code is its status.
	counts bool
	whole  func(list string) string
	code   int
	// padding is the number of spaces before the first object of a whole list.
	padding int64

	asked []string
}

func (s *things) RoundTrip(r *http.Request) (*http.Response, error) {
	code, text := http.StatusNotFound, `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"NotFound","code":404}`
	if strings.HasSuffix(r.URL.Path, "/things") {
		query := r.URL.Query()
		limit, _ := strconv.Atoi(query.Get("limit"))
		from, _ := strconv.Atoi(query.Get("continue"))
		s.asked = append(s.asked, fmt.Sprintf("%d from %d", limit, from))
		code = http.StatusOK
		if limit > 0 {
			text = s.list(from, min(from+limit, s.count), `"resourceVersion":"chunks"`)
		} else {
			code, text = s.code, s.whole(s.list(0, s.count, `"resourceVersion":"whole"`))
		}
	}
	var body io.Reader = strings.NewReader(text)
	switch isWhole := r.URL.Query().Get("limit") == ""; {
	case isWhole && s.hangs:
		body = io.MultiReader(strings.NewReader(text[:len(text)/2]), iotest.ErrReader(context.DeadlineExceeded))
	case isWhole && s.padding > 0:
		const start = `{"apiVersion":"v1","items":[`
		body = io.MultiReader(strings.NewReader(start), io.LimitReader(spaces{}, s.padding), strings.NewReader(strings.TrimPrefix(text, start)))
	}
	return &http.Response{StatusCode: code, Header: http.Header{"Content-Type": {"application/json"}}, Body: io.NopCloser(body), Request: r}, nil
}

// spaces is an endless text without content, which takes no memory.
type spaces struct{}

func (spaces) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = ' '
	}
	return len(p), nil
}

// list formats a list as API servers do for custom resources: the metadata comes last.
func (s *things) list(from, to int, about string) string {
	var items []string
	for i := from; i < to; i++ {
		items = append(items, fmt.Sprintf(`{"metadata":{"name":"thing-%05d","annotations":{"a":"}],\"["}}}`, i))
	}
	if to < s.count {
		about += fmt.Sprintf(`,"continue":"%d"`, to)
		if s.counts {
			about += fmt.Sprintf(`,"remainingItemCount":%d`, s.count-to)
		}
	}
	return fmt.Sprintf(`{"apiVersion":"v1","items":[%s],"kind":"ThingList","metadata":{%s}}`, strings.Join(items, ","), about)
}

// TestLongListsAreReadWhole checks that the objects of a long list come in one answer,
// from one moment. Servers that refuse that, or that do not report the length, send chunks. A
// list that breaks off is not taken as complete.
func TestLongListsAreReadWhole(t *testing.T) {
	as := func(list string) string { return list }
	for name, c := range map[string]struct {
		things
		asked   []string
		version string
		err     string
		none    bool
	}{
		"long": {things: things{count: 2600, counts: true, whole: as, code: 200}, asked: []string{"500 from 0", "0 from 0"}, version: "whole"},
		"typed": {
			things: things{count: 2600, counts: true, code: 200, whole: func(list string) string {
				about := `,"kind":"ThingList","metadata":{"resourceVersion":"whole"}`
				return strings.Replace(strings.Replace(list, about, "", 1), `"items"`, about[1:]+`,"items"`, 1)
			}},
			asked: []string{"500 from 0", "0 from 0"}, version: "whole",
		},
		"short":           {things: things{count: 900, counts: true, whole: as, code: 200}, asked: []string{"500 from 0", "500 from 500"}, version: "chunks"},
		"of unknown size": {things: things{count: 1200, whole: as, code: 200}, asked: []string{"500 from 0", "500 from 500", "500 from 1000"}, version: "chunks"},
		"too long for the server": {
			things: things{count: 1200, counts: true, whole: as, code: 504},
			asked:  []string{"500 from 0", "0 from 0", "500 from 500", "500 from 1000"}, version: "chunks",
		},
		"server that ignores the limit": {
			things: things{count: 1200, counts: true, code: 200, whole: func(string) string { return (&things{count: 1200}).list(0, 700, `"resourceVersion":"whole"`) }},
			asked:  []string{"500 from 0", "0 from 0", "500 from 700"}, version: "whole",
		},
		"broken off": {
			things: things{count: 1200, counts: true, code: 200, whole: func(list string) string { return list[:len(list)/2] }},
			asked:  []string{"500 from 0", "0 from 0"}, err: "the answer of the server is invalid: unexpected EOF",
		},
		"broken off after the last object": {
			things: things{count: 1200, counts: true, code: 200, whole: func(list string) string { return strings.TrimSuffix(list, "}") }},
			asked:  []string{"500 from 0", "0 from 0"}, err: "the answer of the server is invalid: unexpected EOF",
		},
		"timeout": {
			things: things{count: 1200, counts: true, code: 200, whole: as, hangs: true},
			asked:  []string{"500 from 0", "0 from 0"}, err: "context deadline exceeded",
		},
		"larger than estimated": {
			things: things{count: 1200, counts: true, code: 200, whole: as, padding: maxAnswer},
			asked:  []string{"500 from 0", "0 from 0"}, version: "whole",
		},
		"over the limit": {
			things: things{count: 1200, counts: true, code: 200, whole: as, padding: maxList},
			asked:  []string{"500 from 0", "0 from 0"}, err: "the server's answer is larger than 256 MiB, and was not read to its end",
		},
		"emptied meanwhile": {
			things: things{count: 1200, counts: true, code: 200, whole: func(string) string { return `{"kind":"ThingList","metadata":{"resourceVersion":"whole"},"items":null}` }},
			asked:  []string{"500 from 0", "0 from 0"}, version: "whole", none: true,
		},
		"object without items": {
			things: things{count: 1200, counts: true, code: 200, whole: func(string) string { return `{}` }},
			asked:  []string{"500 from 0", "0 from 0"}, err: "the answer of the server is invalid: it is not a list",
		},
		"another kind": {
			things: things{count: 1200, counts: true, code: 200, whole: func(string) string { return `{"kind":"Status","apiVersion":"v1","items":null}` }},
			asked:  []string{"500 from 0", "0 from 0"}, err: "the answer of the server is invalid: it is not a list",
		},
		"no list": {
			things: things{count: 1200, counts: true, code: 200, whole: func(string) string { return `"sorry"` }},
			asked:  []string{"500 from 0", "0 from 0"}, err: "the answer of the server is invalid: it is not a list: sorry instead of {",
		},
	} {
		t.Run(name, func(t *testing.T) {
			guarded := Guard(&url.URL{Scheme: "https", Host: "c"}, &c.things)
			list := listOfThings(t, &rest.Config{Host: "https://c", Transport: guarded, QPS: -1})
			var names []string
			version, err := EachObject(t.Context(), list, metav1.ListOptions{}, func(o *metav1.PartialObjectMetadata) {
				names = append(names, o.Name)
			})
			assert.DeepEqual(t, c.things.asked, c.asked)
			if c.err != "" {
				assert.Error(t, err, c.err)
				return
			}
			assert.NilError(t, err)
			assert.Equal(t, version, c.version)
			if c.none {
				c.count = 0
			}
			assert.Equal(t, len(slices.Compact(names)), c.count)
			assert.Assert(t, slices.IsSorted(names))
		})
	}
}
