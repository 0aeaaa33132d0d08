package logs_test

import (
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// log serves a log like the API server and a kubelet.
func (c *cluster) log(w http.ResponseWriter, r *http.Request) {
	q, pod := r.URL.Query(), r.PathValue("pod")
	c.mu.Lock()
	runs, cuts, refuse := c.logs[pod+"/"+q.Get("container")], c.cuts, c.refuse
	_, isThere := c.pods[pod]
	c.mu.Unlock()
	c.change(func() { c.asked = append(c.asked, pod+"?"+q.Encode()) })
	n := len(runs) - 1
	if q.Get("previous") == "true" {
		n--
	}
	switch {
	case !isThere:
		notFound(w, pod)
		return
	case refuse != nil:
		answer(w, &refuse.ErrStatus)
		return
	case n < 0:
		answer(w, &apierrors.NewBadRequest("there is no such container").ErrStatus)
		return
	}
	w.Header().Set("Content-Type", "text/plain")
	// Without a header, a cut would make the client's transport repeat the request by itself.
	w.WriteHeader(http.StatusOK)
	w.(http.Flusher).Flush()
	if q.Get("follow") == "true" {
		c.change(func() { c.open++ })
		defer c.change(func() { c.open-- })
	}
	c.send(w, r, runs[n], cuts)
}

// send sends the requested lines of a run, and later ones.
func (c *cluster) send(w http.ResponseWriter, r *http.Request, run *logOfRun, cuts int) {
	q := r.URL.Query()
	since, _ := time.Parse(time.RFC3339, q.Get("sinceTime"))
	c.mu.Lock()
	if c.breakOff > 0 {
		c.breakOff--
		c.mu.Unlock()
		fmt.Fprintf(w, "%s %s", epoch.Format(time.RFC3339Nano), run.lines[0].text)
		w.(http.Flusher).Flush()
		panic(http.ErrAbortHandler)
	}
	sent := 0
	if tail, err := strconv.Atoi(q.Get("tailLines")); err == nil {
		sent = max(0, len(run.lines)-tail)
	}
	c.mu.Unlock()
	for {
		c.mu.Lock()
		lines, isEnded, isCut, partial, changed := slices.Clone(run.lines[sent:]), run.isEnded, c.cuts > cuts, c.partial, c.changed
		c.mu.Unlock()
		for _, l := range lines {
			if !l.at.Before(since) {
				fmt.Fprintf(w, "%s %s", l.at.Format("2006-01-02T15:04:05.000000000Z07:00"), l.text)
			}
		}
		sent += len(lines)
		if isCut {
			fmt.Fprint(w, partial)
			panic(http.ErrAbortHandler)
		}
		if isEnded || q.Get("follow") != "true" {
			return
		}
		w.(http.Flusher).Flush()
		select {
		case <-r.Context().Done():
			return
		case <-changed:
		}
	}
}
