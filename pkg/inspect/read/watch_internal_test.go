package read

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"gotest.tools/v3/assert"
	"k8s.io/client-go/rest"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/fleet"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
)

// TestWorkloadsAreLostOnce: that Workloads cannot be read is told once, and so is that
// they can be again; what nobody had to ask for tells neither.
func TestWorkloadsAreLostOnce(t *testing.T) {
	changes := make(chan inspect.Change, 10)
	w := &watcher{cluster: &fleet.Cluster{Context: "hub"}, changes: changes, ctx: t.Context(), unclaimed: map[string]read{"a": {}}}
	failed := func() *settler { return &settler{asked: true, err: errors.New("forbidden")} }
	for _, step := range []struct {
		name string
		s    *settler
		want []inspect.ChangeType
	}{
		{"refused", failed(), []inspect.ChangeType{inspect.Lost}},
		{"refused again", failed(), nil},
		{"other Jobs change", &settler{}, nil},
		{"refused as before", failed(), nil},
		{"answered", &settler{asked: true}, []inspect.ChangeType{inspect.Found}},
		{"answered again", &settler{asked: true}, nil},
	} {
		w.settle(step.s)
		assert.DeepEqual(t, typesOf(changes), step.want)
	}
	// Nothing depends on them any more.
	w.settle(failed())
	clear(w.unclaimed)
	w.settle(&settler{})
	assert.DeepEqual(t, typesOf(changes), []inspect.ChangeType{inspect.Lost, inspect.Found})
}

// TestWatchTellsOfAHang: a connection that stays open, and over which nothing comes any
// more, is told as lost, and so is that it comes again.
func TestWatchTellsOfAHang(t *testing.T) {
	var hangs atomic.Bool
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		switch {
		case !strings.HasSuffix(r.URL.Path, "/jobs"):
			w.WriteHeader(http.StatusNotFound)
		case r.URL.Query().Get("sendInitialEvents") != "":
			w.WriteHeader(http.StatusUnprocessableEntity)
			_, _ = io.WriteString(w, `{"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": "Invalid", "code": 422}`)
		case r.URL.Query().Get("watch") != "":
			_ = http.NewResponseController(w).Flush()
			<-r.Context().Done()
		case hangs.Load():
			<-r.Context().Done()
		default:
			_, _ = io.WriteString(w, `{"kind": "JobList", "apiVersion": "batch/v1", "metadata": {"resourceVersion": "1"}, "items": []}`)
		}
	}))
	defer server.Close()
	f := fleet.Open(t.Context(), []fleet.Context{{Name: "hub", Namespace: "ml", Config: &rest.Config{Host: server.URL}}}, fleet.Options{})
	ctx, stop := context.WithCancel(t.Context())
	changes := make(chan inspect.Change)
	var watching sync.WaitGroup
	watching.Go(func() { Watch(ctx, f.Clusters()[0], Query{}, 500*time.Millisecond, changes) })
	defer watching.Wait()
	defer stop()
	for _, step := range []struct {
		hangs bool
		want  inspect.ChangeType
	}{{false, inspect.Synced}, {true, inspect.Lost}, {false, inspect.Found}} {
		hangs.Store(step.hangs)
		select {
		case c := <-changes:
			assert.Equal(t, c.Type, step.want, "%v", c.Err)
			if c.Err != nil {
				assert.Equal(t, c.Err.Error(), "context hub: could not reach the cluster: no answer within 500ms; raise --context-timeout or leave the context out with --contexts '^NAME'")
			}
		case <-time.After(20 * time.Second):
			t.Fatalf("%s is not told", step.want)
		}
	}
}

func typesOf(changes chan inspect.Change) []inspect.ChangeType {
	var types []inspect.ChangeType
	for len(changes) > 0 {
		types = append(types, (<-changes).Type)
	}
	return types
}
