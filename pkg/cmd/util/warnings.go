package util

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"k8s.io/client-go/rest"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/printers"
)

// warnings are the warnings that servers have sent during a call, of all contexts.
type warnings struct {
	// AsErrors is set if any warning makes the call fail.
	AsErrors bool
	// counts return the number of warnings of each context.
	counts []func() int
	// mutex is held while a warning is written, because several contexts are asked at once.
	mutex sync.Mutex
}

// handler returns a handler that prints the warnings of a context's server, with the name of the
// context if there are several.
func (w *warnings) handler(env Environment, contextName string, several bool) rest.WarningHandlerWithContext {
	to := rest.NewWarningWriter(env.ErrOut, rest.WarningWriterOptions{Deduplicate: true})
	w.counts = append(w.counts, to.WarningCount)
	h := &warningHandler{to: to, mutex: &w.mutex}
	if several {
		h.context = contextName
	}
	return h
}

// Outcome returns the error of a call, including the warnings if they are errors.
func (w *warnings) Outcome(err error) error {
	if !w.AsErrors {
		return err
	}
	total := 0
	for _, count := range w.counts {
		total += count()
	}
	switch total {
	case 0:
		return err
	case 1:
		return errors.Join(err, errors.New("1 warning received"))
	}
	return errors.Join(err, fmt.Errorf("%d warnings received", total))
}

// warningHandler handles the warnings of one context.
type warningHandler struct {
	context string
	to      rest.WarningHandler
	mutex   *sync.Mutex
}

func (h *warningHandler) HandleWarningHeaderWithContext(_ context.Context, code int, agent, text string) {
	if h.context != "" && code == 299 && text != "" {
		text = "context " + h.context + ": " + text
	}
	h.mutex.Lock()
	defer h.mutex.Unlock()
	h.to.HandleWarningHeader(code, agent, printers.Safe(text))
}
