package read

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"gotest.tools/v3/assert"
)

// TestWatchOfRubbish checks that invalid events are not shown, that the watch starts again, and
// that later changes are reported.
func TestWatchOfRubbish(t *testing.T) {
	for name, rubbish := range map[string]string{
		"a page":           "<html>\x1b[2J",
		"brackets":         strings.Repeat("[", 1<<16),
		"an unknown event": `{"type":"EVIL\u001b[2J","object":{"kind":"Job","apiVersion":"batch/v1","metadata":{"name":"x"}}}` + "\n",
		"another kind":     `{"type":"ADDED","object":{"kind":"Pod","apiVersion":"v1","metadata":{"name":"x","resourceVersion":"5"}}}` + "\n",
		"no object":        `{"type":"ADDED"}` + "\n",
		"half an event":    `{"type":"ADDED","object":{"kind":"Job"`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			const job = `{"kind":"Job","apiVersion":"batch/v1","metadata":{"name":"job-%d","namespace":"ml","uid":"%[1]d","resourceVersion":"%[1]d"}}`
			var watches atomic.Int32
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				w.Header().Set("Content-Type", "application/json")
				switch {
				case !strings.HasSuffix(r.URL.Path, "/jobs"):
					w.WriteHeader(http.StatusNotFound)
				case r.URL.Query().Get("watch") != "":
					if watches.Add(1) == 1 {
						_, _ = io.WriteString(w, rubbish)
						return
					}
					_, _ = fmt.Fprintf(w, `{"type":"ADDED","object":`+job+"}\n", 2)
					_ = http.NewResponseController(w).Flush()
					<-r.Context().Done()
				default:
					_, _ = fmt.Fprintf(w, `{"kind":"JobList","apiVersion":"batch/v1","metadata":{"resourceVersion":"1"},"items":[`+job+`]}`, 1)
				}
			}))
			defer server.Close()
			w := watchServer(t, server)
			for {
				change := w.next()
				assert.Assert(t, !strings.HasPrefix(change, "ADDED") || strings.HasPrefix(change, "ADDED job-"), "%s", change)
				if strings.HasPrefix(change, "ADDED job-2 ") {
					return
				}
			}
		})
	}
}
